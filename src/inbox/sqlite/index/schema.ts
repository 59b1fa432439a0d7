import type { Database } from 'better-sqlite3'

/** An index of another version is thrown away. To be raised with every change of what is in it, be it by `readForIndex`. */
export const indexVersion = 1

/**
 * Words are kept in one full-text table for so many numbers of the accept sequence. A search goes from table to table, the newest
 * first, so that whatever is asked for, one step of it is short: the begin of a word that every event has costs some milliseconds.
 */
export const eventsPerShard = 32_768

/** From which on in the accept sequence a shard has events. */
export function firstOf(shard: number): number {
  return shard * eventsPerShard + 1
}

export function shardOf(seq: number): number {
  return Math.floor((seq - 1) / eventsPerShard)
}

export function shardName(shard: number): string {
  return `word_${shard}`
}

/**
 * Words come folded and split already, so the tokenizer has nothing to do but to part them at spaces. Only in which events a word is
 * counts: not where, nor how often. What two or three letters begin is looked up like a word.
 */
export function createShard(index: Database, shard: number): void {
  index.exec(
    `CREATE VIRTUAL TABLE ${shardName(shard)} USING fts5(words, content = '', contentless_delete = 1, detail = none,
       tokenize = 'ascii', prefix = '1 2 3')`,
  )
}

/**
 * `meta`: `version`; `seq`, up to which all is in it, with the id of that event, and `first_seq` with its id, by which the database
 * is known again. `live`: events whose words are in it, which those of pruned ones are not. `kind`: numbers for pairs of type and
 * network. `hour`: which part of the accept sequence was received in it.
 */
export const indexTables = [
  `CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID`,
  `CREATE TABLE shard (n INTEGER PRIMARY KEY, is_pruned INTEGER NOT NULL) STRICT`,
  `CREATE TABLE live (seq INTEGER PRIMARY KEY) STRICT`,
  `CREATE TABLE kind (id INTEGER PRIMARY KEY, type TEXT NOT NULL, network TEXT) STRICT`,
  `CREATE TABLE tally (
     minute INTEGER NOT NULL,
     kind_id INTEGER NOT NULL,
     count INTEGER NOT NULL,
     min_seq INTEGER NOT NULL,
     max_seq INTEGER NOT NULL,
     PRIMARY KEY (minute, kind_id)
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE hour (hour INTEGER PRIMARY KEY, min_seq INTEGER NOT NULL, max_seq INTEGER NOT NULL) STRICT`,
  `CREATE TABLE cadence (
     kind_id INTEGER PRIMARY KEY,
     first_at INTEGER NOT NULL,
     last_at INTEGER NOT NULL,
     count INTEGER NOT NULL,
     gaps TEXT NOT NULL
   ) STRICT`,
  `CREATE TABLE drift (
     kind TEXT NOT NULL,
     type TEXT NOT NULL,
     path TEXT NOT NULL,
     expected TEXT NOT NULL,
     example TEXT NOT NULL,
     count INTEGER NOT NULL,
     first_at INTEGER NOT NULL,
     last_at INTEGER NOT NULL,
     first_event_id TEXT NOT NULL,
     PRIMARY KEY (kind, type, path)
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE secret (
     label TEXT PRIMARY KEY,
     first_at INTEGER NOT NULL,
     last_at INTEGER NOT NULL,
     count INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE wallet (
     network TEXT NOT NULL,
     address TEXT NOT NULL,
     last_at INTEGER NOT NULL,
     PRIMARY KEY (network, address)
   ) STRICT, WITHOUT ROWID`,
] as const
