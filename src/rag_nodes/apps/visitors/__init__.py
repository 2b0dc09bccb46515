"""One visitor of the page: what was chosen, loaded, asked, labelled and measured."""
