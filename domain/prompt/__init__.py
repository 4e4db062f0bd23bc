"""What the narrator is sent: sections, budget, history floor, the exact bytes, and the account of what was read."""
