"""Bounds of what authors write: lengths that no sane answer meets, so that decoding by a JSON schema always ends."""

from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

Label = Annotated[str, Field(max_length=200)]
"""A title, a value of a closed set, a reference, a few words: at most 200 characters."""

Sentence = Annotated[str, Field(max_length=1000)]
"""One sentence, or a few: at most 1000 characters."""

Paragraph = Annotated[str, Field(max_length=4000)]
"""What somebody writes in one go: at most 4000 characters."""


def _unended(sql: str) -> str:
    return sql.strip().removesuffix(";").rstrip() if sql.rstrip().endswith(";") else sql


Sql = Annotated[str, AfterValidator(_unended), WithJsonSchema({"type": "string", "maxLength": 4000})]
"""SQL in SQLite's dialect, without the semicolon that may end it: it is put into other statements. Authors give at most
4000 characters; joining domains lengthens it."""

Description = Annotated[str, WithJsonSchema({"type": "string", "maxLength": 1000})]
"""What something is or does. Authors give at most 1000 characters; joining domains adds whose it is."""

Scalar = bool | int | float | Sentence | None
"""A value of a column, as an author gives it."""

Scalars = Annotated[list[Scalar], Field(max_length=64)]
"""Several values, at most 64."""

ScalarRow = Annotated[dict[str, Scalar], Field(max_length=64)]
"""Column -> its value in a row, as an author gives it: at most 64 columns."""
