"""The review desk: a page in which people code documents with the help of a model, and what only this page needs."""
