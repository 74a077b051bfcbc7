"""Qt's tr() asks the one catalogue: the pseudo-language reaches labels, actions and messages."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication

from app.errors import AppError
from app.text.errors import ErrorCode
from app.text.translate import PSEUDO_LANGUAGE, install
from ui.common.banner import Banner
from ui.common.speed_units import SpeedUnitBox
from ui.common.translation import CatalogueTranslator, tr


@pytest.fixture
def pseudo(qapp: QApplication) -> Iterator[None]:
    translator = CatalogueTranslator(qapp)
    install(PSEUDO_LANGUAGE)
    qapp.installTranslator(translator)
    yield
    qapp.removeTranslator(translator)
    install("en")


def test_tr_asks_the_catalogue(pseudo: None) -> None:
    assert tr("Mount “{path}”…") == "⟦Möüñt “{path}”…~⟧"
    assert QCoreApplication.translate("actions", "&Quit").startswith("⟦&Qüît")


def test_the_pseudo_language_reaches_a_label_and_an_error(pseudo: None) -> None:
    box = SpeedUnitBox()
    assert box.toolTip().startswith("⟦Thé üñît")
    banner = Banner()
    banner.show_error(AppError(ErrorCode.FIO_MISSING))
    assert "⟦Thé grîd îš" in banner.accessibleName()


def test_without_a_translation_qt_s_next_translator_is_asked(qapp: QApplication) -> None:
    install("en")
    assert CatalogueTranslator(qapp).translate("QPlatformTheme", "Cancel") == ""
