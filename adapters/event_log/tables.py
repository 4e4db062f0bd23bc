"""The tables of `log.db`: the events, the end of each stream, and the decision tables.

Decision tables hold what a decision needs, updated in the transaction of the append. They are a projection: dropped
and folded again from the events they come out the same. Text is not copied into them; a node names the position of the
event that holds its words.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
)

from domain.campaign.events import CampaignDeleted, CampaignRevised, CampaignStarted

LOG_FORMAT = 4
"""The format of the store. A store with a larger number was written by a newer program and is not opened."""

NUMBER = BigInteger().with_variant(Integer(), "sqlite")
"""SQLite has one kind of whole number, and only INTEGER for a key that it counts up itself."""

RARE_TOPICS = (CampaignStarted.topic, CampaignRevised.topic, CampaignDeleted.topic)
"""Topics of which there are few, however many turns are played. Whoever reads only these finds them by an index of
their own, which costs the append of everything else nothing."""

metadata = MetaData()

store = Table("store", metadata, Column("format", Integer, nullable=False))

event = Table(
    "event",
    metadata,
    # SQLite counts, and elsewhere the log does: the position of a removed newest event is never given again.
    Column("position", NUMBER, primary_key=True, autoincrement=False),
    Column("stream", Text, nullable=False),
    Column("version", NUMBER, nullable=False),
    Column("topic", Text, nullable=False),
    Column("schema_version", NUMBER, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("turn", Text),
    Column("actor", Text, nullable=False),
    Column("payload_hash", LargeBinary, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("chain", LargeBinary, nullable=False),
    UniqueConstraint("stream", "version"),
    sqlite_autoincrement=True,
)

# In literal words, also where it is asked for: with values as parameters SQLite would not see that the index holds them.
IS_RARE = event.c.topic.in_([literal_column(f"'{topic}'") for topic in RARE_TOPICS])

Index("event_rare", event.c.position, sqlite_where=IS_RARE, postgresql_where=IS_RARE)

stream_head = Table(
    "stream_head",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("version", NUMBER, nullable=False),
    Column("chain", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

campaign = Table(
    "campaign",
    metadata,
    Column("campaign", Text, primary_key=True),
    Column("settings", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("revised_at", Text, nullable=False),
    Column("head", NUMBER, nullable=False),
    Column("tip", NUMBER, nullable=False),
    Column("last_node", NUMBER, nullable=False),
    Column("last_branch", NUMBER, nullable=False),
    # How many narrations were accepted, and when the newest turn was opened.
    Column("turns", NUMBER, nullable=False),
    Column("played_at", Text),
    Column("last_state", NUMBER, nullable=False),
    # The extractor that was adopted, and the position of the newest adoption that was for the whole history.
    Column("extractor", Text),
    Column("adopted_at", NUMBER),
    Column("open_turn", Text),
    Column("last_prompt", NUMBER),
    sqlite_with_rowid=False,
)

node = Table(
    "node",
    metadata,
    Column("campaign", Text, primary_key=True),
    Column("node", NUMBER, primary_key=True, autoincrement=False),
    Column("parent", NUMBER),
    Column("kind", Text, nullable=False),
    Column("branch", NUMBER, nullable=False),
    Column("depth", NUMBER, nullable=False),
    Column("turn", Text),
    Column("children", NUMBER, nullable=False),
    Column("text_at", NUMBER, nullable=False),
    # Where its block was judged, the newest reading of a narration, and the version of the state that holds here.
    Column("judged_at", NUMBER),
    Column("reread_at", NUMBER),
    Column("state", NUMBER, nullable=False),
    Index("node_by_place", "campaign", "branch", "depth"),
    Index("node_by_parent", "campaign", "parent"),
    sqlite_with_rowid=False,
)

state_version = Table(
    "state_version",
    metadata,
    Column("campaign", Text, primary_key=True),
    Column("version", NUMBER, primary_key=True, autoincrement=False),
    # The version before it, and the event whose accepted state events lead from there to here.
    Column("previous", NUMBER, nullable=False),
    Column("changed_at", NUMBER, nullable=False),
    # How many events lie between it and the newest whole document before it; that document where it is one.
    Column("steps", NUMBER, nullable=False),
    Column("document", LargeBinary),
    sqlite_with_rowid=False,
)

visual_profile = Table(
    "visual_profile",
    metadata,
    Column("campaign", Text, primary_key=True),
    Column("entity", Text, primary_key=True),
    Column("profile", Text, nullable=False),
    sqlite_with_rowid=False,
)

branch = Table(
    "branch",
    metadata,
    Column("campaign", Text, primary_key=True),
    Column("branch", NUMBER, primary_key=True, autoincrement=False),
    # The branch and the depth of the node that this branch grew from; none for the first branch.
    Column("parent_branch", NUMBER),
    Column("fork_depth", NUMBER, nullable=False),
    # The end of the branch, and the position at which it was last the head; 0 for one that never was.
    Column("leaf", NUMBER, nullable=False),
    Column("leaf_depth", NUMBER, nullable=False),
    Column("headed_at", NUMBER, nullable=False),
    Column("name", Text),
    Column("folded", Text),
    Index("branch_by_fork", "campaign", "parent_branch", "fork_depth"),
    Index("branch_by_name", "campaign", "folded", unique=True),
    sqlite_with_rowid=False,
)

save_point = Table(
    "save_point",
    metadata,
    Column("campaign", Text, primary_key=True),
    Column("save_point", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("folded", Text, nullable=False),
    Column("node", NUMBER, nullable=False),
    Column("set_at", NUMBER, nullable=False),
    UniqueConstraint("campaign", "folded"),
    sqlite_with_rowid=False,
)

turn = Table(
    "turn",
    metadata,
    Column("campaign", Text, primary_key=True),
    Column("turn", Text, primary_key=True),
    Column("operation", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("parent", NUMBER, nullable=False),
    Column("retry_of", NUMBER),
    Column("process", Text, nullable=False),
    Column("request_hash", Text, nullable=False),
    Column("idempotency_key", Text),
    Column("player_node", NUMBER),
    Column("narration", NUMBER),
    Column("prompt_at", NUMBER),
    Column("floor_depth", NUMBER),
    Column("history_budget", NUMBER),
    Column("cancel_requested", Boolean, nullable=False),
    Column("ended", Text),
    Column("opened_at", NUMBER, nullable=False),
    Column("closed_at", NUMBER),
    sqlite_with_rowid=False,
)

idempotency_key = Table(
    "idempotency_key",
    metadata,
    Column("campaign", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("turn", Text, nullable=False),
    sqlite_with_rowid=False,
)

setting = Table(
    "setting",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Column("position", NUMBER, nullable=False),
    sqlite_with_rowid=False,
)

DECISION_TABLES = (campaign, node, state_version, visual_profile, branch, save_point, turn, idempotency_key, setting)
