"""Reading stories out of the views: pages of the line, the list of stories, how far the views are."""
