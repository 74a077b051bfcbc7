"""Recipes: the five shipped studies, errors in user recipes, saving and deleting."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import msgspec
import pytest
from experiment_world import World

from app.errors import AppError, ErrorKind
from app.experiment.design import level_combinations
from app.experiment.factors import (
    CACHE_MODE,
    OBSOLETE_LEVELS,
    READ_AHEAD,
    TEST_FACTORS,
    TRANSFER_SIZE,
    UNSUPPORTED_FACTORS,
    mount_settings,
    normalized_level,
    trial_spec,
)
from app.experiment.model import Experiment, Factor
from app.experiment.plan import estimated_plan
from app.experiment.recipe_store import (
    delete_recipe,
    find_recipe,
    read_recipes,
    readable_recipes,
    save_recipe,
    user_recipe_directory,
)
from app.experiment.recipes import (
    Recipe,
    RecipeFactor,
    RecipeRepeats,
    RecipeWorkload,
    Study,
    parse_recipe,
    recipe_toml,
)

_SEEDS = Path(__file__).parents[2] / "data/seeds"

GOOD = """\
title = "Mine"
options = "vers=4.2"

[[factor]]
name = "rsize"
levels = ["64k", "default"]

[[workload]]
name = "a file"
size = "4M"
quick_size = "1M"
"""


def test_five_studies_with_their_results() -> None:
    found = readable_recipes()
    assert [recipe.name for recipe in found] == [
        "one-at-a-time", "transfer-size", "full-factorial", "attribute-caching", "versions",
    ]  # fmt: skip
    for recipe in found:
        assert recipe.study is not None
        assert recipe.study.measured.strip()
        assert recipe.study.concluded
        assert not recipe.own


@pytest.mark.parametrize("size", ["quick", "full"])
@pytest.mark.parametrize("recipe", readable_recipes(), ids=lambda recipe: recipe.name)
def test_every_set_of_a_study_is_a_mount_and_a_test(recipe, size) -> None:  # type: ignore[no-untyped-def]
    experiment = recipe.experiment("nas:/x", size, seed=1)
    factors = [factor for factor in experiment.factors if factor.name not in UNSUPPORTED_FACTORS]
    sets = level_combinations(experiment, factors)
    assert 1 < len(sets) < 3000
    assert size == "full" or len(sets) < 80
    for levels in sets:
        if not set(levels.items()) & set(OBSOLETE_LEVELS):
            assert mount_settings(experiment, levels).options
        for work in experiment.workloads:
            assert trial_spec(work, levels).total > 0


def test_recipes_vary_the_factors_of_the_studies() -> None:
    cache = find_recipe("attribute-caching").experiment("nas:/x")
    assert cache.repeats == 5
    options = [mount_settings(cache, levels).options for levels in level_combinations(cache, cache.factors)]
    base = "vers=3,hard,rsize=32768,wsize=32768,proto=tcp,timeo=600"
    assert options == [base, f"{base},noac", f"{base},actimeo=0"]
    works = [trial_spec(work, {}) for work in cache.workloads]
    assert [(work.size, work.count, work.workload) for work in works] == [
        (2**30, 1, "file"), (2**20, 100, "files"),
    ]  # fmt: skip
    assert {work.block_size for work in works} == {32768}, "as cp wrote then, so that noac waits as often"
    alone = find_recipe("one-at-a-time").experiment("nas:/x")
    assert alone.repeats == 10
    sets = level_combinations(alone, alone.factors)
    assert all(sum(one[name] != sets[0][name] for name in one) <= 1 for one in sets)
    assert len(sets) == 1 + 10 + 10 + 6


def test_the_unmount_times_quoted_are_those_of_the_study_s_rows() -> None:
    study = find_recipe("full-factorial").study
    assert study is not None
    times: list[float] = []
    for megabytes in (256, 1024):
        with (_SEEDS / f"002-top-30-of-{megabytes}-mb.csv").open(encoding="utf-8", newline="") as file:
            times += [float(row["umount_s"]) for row in csv.DictReader(file)]
    assert f"Unmounting took {min(times)} to {max(times)} s" in study.measured


def test_levels_of_a_test_change_the_test() -> None:
    versions = find_recipe("versions").experiment("nas:/x", "quick")
    levels = {"vers": "4.2", "file_size": "4194304", "record_size": "16384", "pattern": "random"}
    spec = trial_spec(versions.workloads[0], levels)
    assert (spec.size, spec.block_size, spec.workload) == (4194304, 16384, "random")
    streams = trial_spec(versions.workloads[0], {"streams": "4"})
    assert (streams.workload, streams.count) == ("streams", 4)
    assert mount_settings(versions, levels).options == "vers=4.2"
    assert mount_settings(versions, {"read_ahead_kb": "512", "vers": "default"}).read_ahead_kb == 512


def test_sizes_are_normalized_to_bytes() -> None:
    assert normalized_level("rsize", "64k") == "65536"
    assert normalized_level("transfer_size", "1M") == "1048576"
    assert normalized_level("timeo", "600") == "600"


@pytest.mark.parametrize(
    ("old", "new", "line", "word"),
    [
        ('title = "Mine"', 'title = "Mine', 1, "TOML"),
        ('title = "Mine"\n', "", 1, "title"),
        ('name = "rsize"', 'name = "rsise"', 6, "rsise"),
        ('"default"]', '"12x"]', 6, "12x"),
        ('"default"]', "64]", 6, "levels"),
        ('"default"]\n', '"default"]\nbase = "1024"\n', 7, "base"),
        ('"default"]\n', '"default"]\nsteps = 3\n', 7, "steps"),
        ('size = "4M"', 'size = "many"', 10, "many"),
        ('size = "4M"', 'size = "4M"\ncount = 3', 11, "count"),
        ('size = "4M"', 'size = "4M"\nkind = "own"', 11, "kind"),
        ('size = "4M"', 'size = "4M"\nkind = "grid"', 11, "kind"),
        ('size = "4M"', 'size = "4M"\nblock_size = "100"', 11, "block_size"),
        ('size = "4M"', 'size = "4M"\nblock_size = "512M"', 11, "block_size"),
        ('size = "4M"', 'size = "4M"\nkind = "files"\ncount = 2000000', 12, "count"),
        ('size = "4M"', 'size = "4M"\nkind = "streams"\ncount = 65', 12, "64"),
        ('size = "4M"', 'size = "4M"\nkind = "files"\nquick_count = 2000000', 12, "quick_count"),
        ('size = "4M"', 'size = "4M"\nquick_count = 3', 11, "quick_count"),
        ('size = "4M"', 'size = "4M"\nquick_count = -3', 11, "quick_count"),
        ('size = "4M"', 'size = "4M"\nkind = "files"\ncount = 0', 12, "count"),
        ('options = "vers=4.2"', 'options = "vers=9"', 2, "options"),
        ('options = "vers=4.2"', 'strategy = "rows"', 2, "rows"),
        ('options = "vers=4.2"', 'strategy = "best"', 2, "strategy"),
        ('quick_size = "1M"\n', 'quick_size = "1M"\n[quick]\nrepeats = 0\n', 13, "repeats"),
        ('quick_size = "1M"\n', 'quick_size = "1M"\n[[row]]\nwsize = "4096"\n', 13, "wsize"),
    ],
)
def test_an_error_names_file_line_and_key(old: str, new: str, line: int, word: str) -> None:
    assert parse_recipe(GOOD, "mine.toml").title == "Mine"
    assert old in GOOD
    with pytest.raises(AppError) as caught:
        parse_recipe(GOOD.replace(old, new), "mine.toml")
    assert caught.value.kind is ErrorKind.USAGE
    assert "mine.toml" in caught.value.message
    assert f"line {line}" in caught.value.message
    assert word in caught.value.message


def test_the_manual_describes_every_key_and_its_example_is_a_recipe() -> None:
    page = (Path(__file__).parents[3] / "packaging/mountwright.1").read_text(encoding="utf-8")
    section = page.partition(".Sh RECIPES\n")[2].partition("\n.Sh ")[0]
    example, _, keys = section.partition(".Bd -literal -offset indent\n")[2].partition(".Ed\n")
    recipe = parse_recipe(example, "manual")
    assert [len(factor.levels) for factor in recipe.experiment("nas:/x").factors] == [3, 2]
    assert [work.count for work in recipe.experiment("nas:/x", "quick").workloads] == [1, 100]
    for part in (Recipe, RecipeFactor, RecipeWorkload, RecipeRepeats, Study):
        for field in set(part.__struct_fields__) - ({"own"} if part is Recipe else set()):
            assert re.search(rf"^\.(Cm|It Cm) .*\b{field}\b", keys, re.MULTILINE), field
    for factor in TEST_FACTORS | {TRANSFER_SIZE, READ_AHEAD, CACHE_MODE}:
        assert re.search(rf"^\.Cm .*\b{factor}\b", keys, re.MULTILINE), factor


def test_user_recipes_are_saved_listed_and_deleted(own_home: Path) -> None:
    save_recipe(GOOD, "mine")
    assert user_recipe_directory() == own_home / ".config/mountwright/recipes"
    recipe = find_recipe("mine")
    assert (recipe.title, recipe.own) == ("Mine", True)
    quick = recipe.experiment("nas:/x", "quick")
    assert quick.workloads[0].size == 2**20
    assert quick.factors[0].levels == ["65536", "default"]
    assert find_recipe(str(user_recipe_directory() / "mine.toml")).title == "Mine"
    delete_recipe("mine")
    with pytest.raises(AppError):
        find_recipe("mine")


@pytest.mark.parametrize("name", ["versions", "../x", "Ä", ""])
def test_invalid_and_reserved_names_are_refused(name: str) -> None:
    with pytest.raises(AppError) as caught:
        save_recipe(GOOD, name)
    assert caught.value.kind is ErrorKind.USAGE
    with pytest.raises(AppError):
        delete_recipe(name or "none")


def test_the_name_of_the_search_is_reserved(own_home: Path) -> None:
    """Otherwise its trials would be mistaken for those of a search, and could not be resumed."""
    with pytest.raises(AppError, match="the search for the best setting") as caught:
        save_recipe(GOOD, "best")
    assert caught.value.kind is ErrorKind.USAGE
    user_recipe_directory().mkdir(parents=True)
    (user_recipe_directory() / "best.toml").write_text(GOOD)  # older versions accepted this name
    assert find_recipe("best").experiment("nas:/x").recipe == ""
    delete_recipe("best")
    assert not [recipe for recipe in readable_recipes() if recipe.own]


def test_an_invalid_recipe_can_be_replaced_or_deleted(own_home: Path) -> None:
    save_recipe(GOOD, "good")
    for name in ("broken", "other"):
        (user_recipe_directory() / f"{name}.toml").write_text("title = ")
    (user_recipe_directory() / "bytes.toml").write_bytes(b"title = '\xff'")
    book = read_recipes()
    assert book.recipes == readable_recipes()
    assert [recipe.name for recipe in book.recipes if recipe.own] == ["good"]
    assert [error.message.partition(".toml")[0].rpartition("/")[2] for error in book.unreadable] == [
        "broken", "bytes", "other",
    ]  # fmt: skip
    assert "experiment remove broken" in book.unreadable[0].hint
    assert find_recipe("good").title == "Mine"
    with pytest.raises(AppError, match="it is not TOML"):
        find_recipe("broken")
    assert save_recipe(GOOD, "broken") == find_recipe("broken")
    delete_recipe("other")
    delete_recipe("bytes")
    assert read_recipes().unreadable == []


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "", ".", "gr\udcf6"])
def test_names_that_no_file_can_have(name: str, own_home: Path) -> None:
    save_recipe(GOOD, "good")
    for ask in (find_recipe, delete_recipe):
        with pytest.raises(AppError, match="There is no recipe") as caught:
            ask(name)
        assert caught.value.kind is ErrorKind.USAGE


def test_deleting_an_invalid_recipe_with_an_unprintable_name(own_home: Path) -> None:
    user_recipe_directory().mkdir(parents=True)
    with open(f"{user_recipe_directory()}/gr\udcf6.toml", "w") as file:  # noqa: PTH123 - a name that is not UTF-8
        file.write("title = ")
    (broken,) = read_recipes().unreadable
    name = broken.hint.partition("experiment remove ")[2].removesuffix("”.")
    with pytest.raises(AppError, match="it is not TOML"):
        find_recipe(name)
    delete_recipe(name)
    assert read_recipes().unreadable == []


def test_a_file_whose_name_is_not_utf_8_can_be_run(own_home: Path) -> None:
    user_recipe_directory().mkdir(parents=True)
    name = f"{user_recipe_directory()}/gr\udcf6\udcdfen.toml"
    with open(name, "w") as file:  # noqa: PTH123 - a name that is not UTF-8
        file.write(GOOD)
    experiment = find_recipe(name).experiment("nas:/x")
    assert experiment.recipe == r"gr\xf6\xdfen"
    assert msgspec.json.decode(msgspec.json.encode(experiment), type=Experiment) == experiment
    with pytest.raises(AppError) as caught:
        save_recipe(GOOD, "gr\udcf6")
    assert msgspec.json.encode(caught.value.message)


@pytest.mark.parametrize("text", [f"a = {'[' * 20000}", f"{GOOD}count = {'9' * 5000}\n"])
def test_too_deep_or_too_long_toml_is_refused(text: str) -> None:
    with pytest.raises(AppError) as caught:
        parse_recipe(text, "mine.toml")
    assert caught.value.kind is ErrorKind.USAGE
    assert "mine.toml" in caught.value.message


@pytest.mark.parametrize("recipe", readable_recipes(), ids=lambda recipe: recipe.name)
def test_recipes_survive_a_round_trip_through_toml(recipe) -> None:  # type: ignore[no-untyped-def]
    written = parse_recipe(recipe_toml(recipe), "recipe", name=recipe.name)
    assert written == recipe


@pytest.mark.parametrize("text", ['a "quoted" \\ one', "two\nlines\twith \x7f", '"""', "é …"])
def test_any_text_survives_a_round_trip_through_toml(text: str) -> None:
    recipe = parse_recipe(GOOD, "recipe")
    changed = msgspec.structs.replace(
        recipe, title=text, strategy="rows", row=[{"rsize": "64k"}, {"rsize": "default"}]
    )
    assert parse_recipe(recipe_toml(changed), "recipe") == changed


@pytest.mark.parametrize(
    ("name", "level", "options"),
    [("ac", "no", "noac"), ("ac", "yes", "ac"), ("softreval", "yes", "softreval"), ("ac", "default", "")],
)
def test_levels_of_a_flag(name: str, level: str, options: str) -> None:
    assert normalized_level(name, level) == level
    text = GOOD.replace("rsize", name).replace('"64k"', f'"{level}"').replace("vers=4.2", "")
    experiment = parse_recipe(text, "recipe").experiment("nas:/x")
    assert mount_settings(experiment, {name: level}).options == options


def test_estimated_plan_without_mounting() -> None:
    experiment = parse_recipe(GOOD.replace('"default"]', '"default", "1M"]'), "recipe").experiment("nas:/x")
    facts = World().facts
    plan = estimated_plan(experiment, facts)
    assert (len(plan.sets), plan.trials) == (3, 13)
    assert plan.space == 4 * 2**20
    assert plan.bytes == 14 * 2 * 4 * 2**20  # including the warm-up, in both directions
    assert 5 < plan.seconds < 60
    udp = msgspec.structs.replace(experiment, factors=[Factor(name="proto", levels=["tcp", "udp"])])
    (struck,) = estimated_plan(udp, facts).struck
    assert struck.levels == {"proto": "udp"}


def test_huge_number_of_option_sets_is_refused() -> None:
    levels = [str(level) for level in range(1, 1000)]
    factors = [Factor(name=name, levels=levels) for name in ("timeo", "retrans", "acregmin", "acregmax")]
    experiment = parse_recipe(GOOD, "recipe").experiment("nas:/x")
    with pytest.raises(AppError, match=r"996005996001 option sets\. The limit is 5000"):
        estimated_plan(msgspec.structs.replace(experiment, factors=factors), World().facts)
