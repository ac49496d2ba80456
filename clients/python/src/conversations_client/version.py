"""The version of this package, which is that of the service it came with."""

VERSION = "0.1.0-dev"
