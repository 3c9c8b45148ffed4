"""Label texts in documents: where they occur, what that says about labels, and which phrases no label covers."""
