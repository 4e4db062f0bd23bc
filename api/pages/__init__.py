"""What is shown to people as pictures and pages: the tree, the difference of two places."""
