"""Excel workbooks (Office Open XML, ECMA-376) of plain tables, with the required parts only.

Text cells are stored as inline strings, so that a spreadsheet never reads one as a formula.
"""

from __future__ import annotations

import html
import io
import re
import zipfile
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Cell = str | float | int | bool | None

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
#: Characters that XML 1.0 does not allow.
_ILLEGAL = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: Excel's limits of the text of a cell and of the name of a sheet, characters.
_TEXT_LIMIT, _NAME_LIMIT = 32_767, 31
#: Constant time of the ZIP members, so that equal tables give equal files.
_EPOCH = (1980, 1, 1, 0, 0, 0)
#: Cell formats: 0 is normal, 1 is bold for the heading row.
_XF = '<xf numFmtId="0" fontId="{}" fillId="0" borderId="0"{}/>'
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    f'<cellStyleXfs count="1">{_XF.format(0, "")}</cellStyleXfs><cellXfs count="2">'
    + _XF.format(0, ' xfId="0"')
    + _XF.format(1, ' xfId="0" applyFont="1"')
    + '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
    "</styleSheet>"
)


def tables_to_xlsx(sheets: Mapping[str, Sequence[Sequence[Cell]]]) -> bytes:
    """Return the content of a workbook file.

    Args:
        sheets: name of each sheet to its rows; the first row is a heading that does not scroll.
    """
    names = list(sheets)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for path, text in (
            ("[Content_Types].xml", _content_types(len(names))),
            ("_rels/.rels", _relations([("officeDocument", "xl/workbook.xml")])),
            ("xl/workbook.xml", _workbook(names)),
            (
                "xl/_rels/workbook.xml.rels",
                _relations(
                    [
                        *(
                            ("worksheet", f"worksheets/sheet{number}.xml")
                            for number in range(1, len(names) + 1)
                        ),
                        ("styles", "styles.xml"),
                    ]
                ),
            ),
            ("xl/styles.xml", _STYLES),
            *(
                (f"xl/worksheets/sheet{number}.xml", _sheet(sheets[name]))
                for number, name in enumerate(names, 1)
            ),
        ):
            file.writestr(zipfile.ZipInfo(path, _EPOCH), (_HEAD + text).encode(), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _content_types(count: int) -> str:
    sheets = "".join(
        f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{_TYPE}.worksheet+xml"/>'
        for number in range(1, count + 1)
    )
    return (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>{sheets}</Types>'
    )


def _relations(targets: Sequence[tuple[str, str]]) -> str:
    lines = "".join(
        f'<Relationship Id="r{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{lines}</Relationships>'


def _workbook(names: Sequence[str]) -> str:
    sheets = "".join(
        f'<sheet name="{html.escape(name[:_NAME_LIMIT])}" sheetId="{number}" r:id="r{number}"/>'
        for number, name in enumerate(names, 1)
    )
    return f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{sheets}</sheets></workbook>'


def _sheet(rows: Sequence[Sequence[Cell]]) -> str:
    lines = "".join(
        f"<row>{''.join(_cell(value, 0 if index else 1) for value in row)}</row>"
        for index, row in enumerate(rows)
    )
    return (
        f'<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
        '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
        f"<sheetData>{lines}</sheetData></worksheet>"
    )


def _cell(value: Cell, style: int) -> str:
    if value is None or value == "" or (isinstance(value, float) and not isfinite(value)):
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b" s="{style}"><v>{int(value)}</v></c>'
    if isinstance(value, (int, float)):
        return f'<c s="{style}"><v>{value!r}</v></c>'
    text = html.escape(_ILLEGAL.sub("�", value[:_TEXT_LIMIT]), quote=False)
    return f'<c t="inlineStr" s="{style}"><is><t xml:space="preserve">{text}</t></is></c>'
