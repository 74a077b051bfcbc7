"""Reports and exports: tests and experiments as HTML, SVG, Excel workbooks, CSV and JSON files."""
