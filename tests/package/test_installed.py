"""The installed command, in a folder that holds nothing of the project."""

import json
from pathlib import Path

import pytest

from skillweave.base.code import CodeIndex
from synth.engine.pipeline import load_pipeline
from tests.authors.conftest import Direct
from tests.package.built import Installed
from tests.pipeline.small import SMALLEST, artifacts, differing
from tests.shared import copied

SETTINGS = [word for setting in SMALLEST for word in ("--set", setting)]
SAYS_DEFAULT = "there is no config.yaml here: this is the default run; to change it: skillweave synth init-config"
PROGRAMS = ("synth", "rollout", "evaluator", "interop", "learn")


@pytest.fixture(scope="module")
def outputs(installed: Installed, api_url: str) -> Path:
    """A small dataset that the installed command made, without a configuration."""
    before = installed.files()
    done = installed.run("synth", "run", *SETTINGS, PREFECT_API_URL=api_url)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    assert done.stdout.splitlines()[0] == SAYS_DEFAULT
    assert done.stdout.splitlines()[-1].endswith("next: skillweave synth verify outputs")
    assert installed.files() == before
    return installed.elsewhere / "outputs"


def test_help_names_all_programs(installed: Installed) -> None:
    shown = installed.run("--help")
    assert (shown.returncode, shown.stdout.splitlines()[0]) == (0, "Usage: skillweave [OPTIONS] COMMAND [ARGS]...")
    assert all(f"\n  {program} " in shown.stdout for program in PROGRAMS)
    assert installed.run("--version").stdout == "skillweave 0.1.0\n"


@pytest.mark.parametrize("words", [[], ["run"], ["serve"]])
@pytest.mark.parametrize("program", PROGRAMS)
def test_both_forms_are_the_same_program(program: str, words: list[str], installed: Installed) -> None:
    console = installed.run(program, *words, "--help")
    module = installed.start(str(installed.python), "-m", program, *words, "--help")
    assert console.returncode == module.returncode
    for one, other in ((console.stdout, module.stdout), (console.stderr, module.stderr)):
        assert one.split() == other.replace(f"python -m {program}", f"skillweave {program}").split()


def test_wrong_usage_is_told_in_the_form_of_the_call(installed: Installed) -> None:
    wrong = installed.run("synt")
    assert (wrong.returncode, wrong.stderr.splitlines()[-1]) == (
        2,
        "Error: No such command 'synt'. Did you mean 'synth'?",
    )
    missing = installed.run("synth", "run", "--config", "missing.yaml")
    assert missing.returncode == 2
    assert missing.stderr == (
        "error: configuration 'missing.yaml' does not exist; "
        "write one with: skillweave synth init-config missing.yaml\n"
    )
    assert "python -m" not in installed.run("rollout", "run", "--outputs-dir", "missing").stderr


def test_help_loads_nothing_heavy(installed: Installed) -> None:
    program = (
        "import sys, atexit; sys.argv = ['skillweave', 'synth', '--help']; "
        "atexit.register(lambda: print(sorted({'prefect', 'pydantic', 'yaml', 'rollout'} & set(sys.modules)))); "
        "from skillweave.__main__ import main; main()"
    )
    shown = installed.start(str(installed.python), "-c", program)
    assert shown.stdout.splitlines()[0] == "Usage: skillweave synth [OPTIONS] COMMAND [ARGS]..."
    assert shown.stdout.splitlines()[-1] == "[]"


def test_steps_have_the_fingerprints_of_the_sources(installed: Installed) -> None:
    modules = [step.module for step in load_pipeline("synth.steps").steps]
    roots = ("skillweave", "synth", "evaluator")
    program = (
        "import json; from skillweave.base.code import CodeIndex; "
        f"index = CodeIndex({roots}); print(json.dumps([index.closure(m) for m in {modules}]))"
    )
    shown = installed.start(str(installed.python), "-c", program)
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout) == [CodeIndex(roots).closure(module) for module in modules]


def test_a_dataset_of_the_sources_is_up_to_date_for_the_package(
    installed: Installed, direct: Direct, tmp_path: Path
) -> None:
    copied(direct.outputs, tmp_path / "my outputs")
    shown = installed.run("synth", "run", *SETTINGS, "--outputs", str(tmp_path / "my outputs"), "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert "everything is up to date; nothing would run" in shown.stdout


def test_a_run_elsewhere_makes_the_same_bytes(outputs: Path, direct: Direct) -> None:
    assert differing(artifacts(outputs), direct.artifacts) == []


def test_what_is_made_elsewhere_is_rolled_out_scored_exported_and_verified(
    installed: Installed, outputs: Path, tmp_path: Path
) -> None:
    config = str(tmp_path / "my config.yaml")
    assert installed.run("synth", "init-config", config).returncode == 0
    rolled = installed.run("rollout", "run", "--agent", "offline/oracle", "--outputs", "outputs", "--config", config)
    assert rolled.returncode == 0, rolled.stderr
    assert "next: skillweave evaluator run " in rolled.stdout
    scored = installed.run("evaluator", "run")
    assert scored.returncode == 0, scored.stderr
    assert "next: skillweave evaluator show " in scored.stdout
    assert (outputs / "evaluation" / "report.html").is_file()
    exported = installed.run("interop", "export", "openai", "--rollouts", "rollouts", "--to", "exported")
    assert exported.returncode == 0, exported.stderr
    verified = installed.run("synth", "verify", "outputs", "--quick")
    assert (verified.returncode, verified.stderr) == (0, ""), verified.stdout
    assert "next: skillweave rollout run " in verified.stdout


def test_the_written_configuration_is_the_default_run(installed: Installed, direct: Direct, tmp_path: Path) -> None:
    written = installed.run("synth", "init-config", folder=tmp_path)
    assert written.stdout == "wrote config.yaml; next: skillweave synth run --config config.yaml\n"
    copied(direct.outputs, tmp_path / "outputs")
    shown = installed.run("synth", "run", *SETTINGS, "--dry-run", folder=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert SAYS_DEFAULT not in shown.stdout
    assert "everything is up to date; nothing would run" in shown.stdout


def test_a_plug_in_in_the_folder_is_found_and_no_file_there_hides_a_library(
    installed: Installed, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text("print('mine is loaded')\n")
    (tmp_path / "yaml.py").write_text("raise SystemExit('a file of the folder was loaded')\n")
    (tmp_path / "config.yaml").write_text("plugins: [mine]\n")
    shown = installed.run("synth", "run", "--dry-run", folder=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("mine is loaded\n")
