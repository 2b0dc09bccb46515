"""What the chunks of each parser are like."""
