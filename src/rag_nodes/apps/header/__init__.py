"""The panel beside the tabs: documents, models, parsers and their options."""
