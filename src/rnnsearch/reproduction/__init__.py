"""The paper's experiments: five models trained alike, and one report of its tables, figures and claims."""
