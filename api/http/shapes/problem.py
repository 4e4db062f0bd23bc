"""What went wrong."""

from pydantic import BaseModel, ConfigDict


class Problem(BaseModel):
    """RFC 9457. `code` is from a closed list; other fields explain it."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "A turn is in progress",
                    "status": 409,
                    "code": "turn_in_progress",
                    "detail": "Turn t_4m2kq7xw3a of this story is still being told. Wait for it, or cancel it.",
                }
            ]
        },
    )

    type: str
    title: str
    status: int
    code: str
    detail: str
