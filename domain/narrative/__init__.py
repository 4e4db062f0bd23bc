"""The narrative state: its vocabulary, how proposals are judged, what they change, and how it reads in a prompt."""
