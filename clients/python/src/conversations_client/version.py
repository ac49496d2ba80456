"""The version of this package, which is that of the service it came with."""

VERSION = "1.0.0"
