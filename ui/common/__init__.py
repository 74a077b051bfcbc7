"""Parts that several pages share: labels, tables, inputs, dialogs, texts."""
