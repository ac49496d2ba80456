"""The exceptions of the client. None of them ever contains the API key."""

from __future__ import annotations

from .models import Error, RateLimit


class ConversationsError(Exception):
    """The base class. ``attempts`` is the number of requests that were made."""

    attempts = 1

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later."""
        return False


class NetworkError(ConversationsError):
    """No answer came: no connection, a broken one, or a timeout.

    The request may have been carried out. ``__cause__`` is the reason.
    """

    @property
    def is_temporary(self) -> bool:
        return True


class CertificateError(NetworkError):
    """The server's certificate is not valid for its name. Retrying does not help."""

    @property
    def is_temporary(self) -> bool:
        return False


class UnexpectedAnswerError(ConversationsError):
    """A successful answer that is not as proto/openapi.yaml describes it.

    Most likely something other than the service answers at this address.
    """


class ApiError(ConversationsError):
    """The service, or a proxy in front of it, refused the request or failed.

    ``errors`` lists all errors in the order of the request; ``code``, ``message`` and ``field`` are
    those of the first. Branch on ``code``. It is None when the answer has no list of errors, for
    example when it comes from a proxy.
    """

    def __init__(
        self,
        status: int,
        errors: tuple[Error, ...] = (),
        request_id: str | None = None,
        rate_limit: RateLimit | None = None,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(status, errors, request_id, rate_limit, retry_after)
        self.status = status
        self.errors = errors
        self.request_id = request_id
        self.rate_limit = rate_limit
        self.retry_after = retry_after

    @property
    def code(self) -> str | None:
        return self.errors[0].code if self.errors else None

    @property
    def message(self) -> str | None:
        return self.errors[0].message if self.errors else None

    @property
    def field(self) -> str | None:
        return self.errors[0].field if self.errors else None

    @property
    def is_temporary(self) -> bool:
        return self.status in (429, 500, 502, 503, 504)

    def __str__(self) -> str:
        told = "; ".join(
            f"{error.code}: {error.field + ' ' if error.field else ''}{error.message}"
            for error in self.errors
        )
        return f"{self.status} {told or 'without a list of errors'} (request {self.request_id})"


class BadRequestError(ApiError):
    """400: the request breaks a rule, or its cursor is no longer valid (``invalid_cursor``)."""


class UnauthorizedError(ApiError):
    """401: no key, or one that is malformed, unknown, revoked or expired."""


class ForbiddenError(ApiError):
    """403: the key's scope, the organization's plan or its policy forbids it."""


class NotFoundError(ApiError):
    """404: there is no such conversation or contact."""


class ConflictError(ApiError):
    """409: the request contradicts what is stored. Nothing was written."""


class RateLimitError(ApiError):
    """429: wait at least ``retry_after`` seconds."""


class ServerError(ApiError):
    """5xx: the request may have been carried out, unless ``code`` is ``service_unavailable``."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    429: RateLimitError,
}


def error_class(status: int) -> type[ApiError]:
    """The class for a status."""
    if status >= 500:
        return ServerError
    return _BY_STATUS.get(status, ApiError)


class WebhookError(ConversationsError):
    """A delivery that the service did not send, that was changed, or that is too old."""
