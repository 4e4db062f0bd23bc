"""The running Fabula, for routes."""

from typing import Annotated

from fastapi import Depends, Request

from api.wiring import Fabula


async def _this_fabula(request: Request) -> Fabula:
    fabula = request.app.state.fabula
    if not isinstance(fabula, Fabula):
        raise TypeError("the app has not been started")
    return fabula


ThisFabula = Annotated[Fabula, Depends(_this_fabula)]
