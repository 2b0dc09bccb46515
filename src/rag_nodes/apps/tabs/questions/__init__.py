"""Questions with known answers: drafted, reviewed one by one, and taken along."""
