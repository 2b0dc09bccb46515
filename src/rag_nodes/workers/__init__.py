"""Workers that read, cut and embed beside each other, and the one writer behind them."""
