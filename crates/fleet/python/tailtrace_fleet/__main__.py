"""`python -m tailtrace_fleet`."""

from tailtrace_fleet.commands import main

main()
