"""The parts of a manual, as its author answers: all but the sentences of its rules, which the contract has."""

from typing import Annotated

from pydantic import Field

from skillweave.schema.bounds import Label, Paragraph, Sentence
from skillweave.schema.record import Record


class RuleParagraph(Record):
    """Rules of a tool that are about one thing."""

    theme: Label
    rules: list[Label] = Field(max_length=128)
    """Their numbers: `R7`."""


class Section(Record):
    """What a manual says of one tool, but for the sentences of its rules."""

    tool: Label
    heading: Label
    purpose: Paragraph
    """What the tool is for."""
    confirm: Sentence = ""
    """Asks for the customer's confirmation; printed where the tool wants it, and only there."""
    paragraphs: list[RuleParagraph] = Field(default_factory=list, max_length=32)


class ManualParts(Record):
    """A manual, but for the sentences of its rules."""

    introduction: Annotated[str, Field(max_length=20_000)]
    """Markdown: all that belongs to no tool."""
    sections: list[Section] = Field(max_length=200)


class Company(Record):
    """What opens the part of one company."""

    company: Label
    """Its server's name."""
    about: Paragraph


class JointParts(ManualParts):
    """A manual of several companies; its introduction ends where what was settled between them is to follow."""

    companies: list[Company] = Field(max_length=16)
