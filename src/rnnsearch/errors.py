"""The one error type for a user's mistake; only the command line turns it into a line on standard error."""


class UserError(Exception):
    """A mistake that the user can mend: one sentence that says what is wrong, where, and what to do."""
