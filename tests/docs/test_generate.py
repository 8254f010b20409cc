import re
from pathlib import Path
from typing import TypeGuard

import pytest
from pydantic import BaseModel

from docs import formats, generate
from docs import pages as config
from docs import pages as pipeline
from docs.reference import fields_of, readable, table
from skillweave.config.sections import Config
from skillweave.schema.record import Record
from synth.engine.pipeline import load_pipeline


def subclasses(base: type[BaseModel]) -> set[type[BaseModel]]:
    """All that a class is a base of."""
    return {found for each in base.__subclasses__() for found in {each, *subclasses(each)}}


def test_every_record_of_the_schema_is_on_the_page_once_with_every_field() -> None:
    page = formats.page()
    every = [record for record in subclasses(Record) if record.__module__.startswith("skillweave.schema.")]
    records = [record for record in every if not record.__name__.startswith("_")]
    assert len(records) > 50
    for record in records:
        assert page.count(f"### {record.__name__}\n") == 1, record
        section = page.partition(f"### {record.__name__}\n")[2].partition("\n#")[0]
        names = [field.serialization_alias or name for name, field in record.model_fields.items()]
        assert [f"`{name}`" for name in names] == [
            line.split(" | ")[0].removeprefix("| ") for line in section.splitlines() if line.startswith("| `")
        ]


def test_the_docstring_under_a_field_is_its_meaning() -> None:
    assert (
        '| `prefix` | `Label, length ≤ 200` | `""` | Prefix of its ids, unique in the whole run; s05 allocates it. |'
        in formats.page()
    )


def test_every_file_that_a_step_writes_is_on_the_page() -> None:
    page = formats.page()
    for step in load_pipeline().steps:
        for artifact in (*step.writes, *step.join_writes):
            assert f"## `{artifact.pattern}`\n" in page


def test_every_step_is_told_with_its_parameters_and_their_defaults() -> None:
    page = pipeline.pipeline_page()
    for step in load_pipeline().steps:
        section = page.partition(f"\n## {step.name}\n")[2].partition("\n## ")[0]
        assert step.title[1:] in section
        for field in fields_of(step.params):
            assert field.name in ("repairs", "max_rejected") or f"| `{field.name}` | `{field.type}`" in section


def test_the_picture_shows_no_wait_that_follows_from_others() -> None:
    picture = pipeline.picture(load_pipeline())
    assert "s01 -.-> s02" in picture
    assert "s02 --> s03" in picture
    assert "s01 -.-> s03" not in picture


def test_every_key_of_the_configuration_is_on_the_page() -> None:
    page = config.config_page()
    for name, field in Config.model_fields.items():
        kind = field.annotation
        keys = [f"{name}.{key}" for key in kind.model_fields] if _is_section(kind) else [name]
        assert all(f"| `{key}` |" in page or re.search(rf"^## .*`{key}`", page, re.M) for key in keys)
    assert "| `rollout.parts.dispatcher` |" in page
    assert "| `rollout.agent.serve.command` |" in page


def _is_section(kind: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def test_a_page_that_is_not_what_the_code_says_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main([], tmp_path) == 0
    assert generate.main(["--check"], tmp_path) == 0
    (tmp_path / "config.md").write_text("old")
    capsys.readouterr()
    assert generate.main(["--check"], tmp_path) == 1
    assert capsys.readouterr().out == "docs/config.md is stale; run: python -m docs.generate\n"
    assert (tmp_path / "config.md").read_text() == "old"


def test_tables_keep_their_columns_whatever_the_cells_hold() -> None:
    rows = table(["a", "b"], [("x | y", "two\nlines")]).splitlines()
    assert rows[2] == "| x \\| y | two lines |"


def test_types_are_written_as_people_read_them() -> None:
    assert readable("list[Literal['do', 'inform']] | None") == "list[do | inform] | None"
    assert readable("Annotated[str, AfterValidator(_checked)]") == "str"
    assert readable("Literal['same code', 'same code, columns apart']") == "same code | same code, columns apart"
