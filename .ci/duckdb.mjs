// Runs the DuckDB lines of docs/results.md on a folder of results and prints what
// they return. A line that fails, or returns nothing, fails the check.
//   node .ci/duckdb.mjs DOCS FOLDER
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [docs, folder] = process.argv.slice(2);
// The client is installed where the check runs, not beside this file.
const { DuckDBInstance } = createRequire(process.cwd() + "/")("@duckdb/node-api");
const block = readFileSync(docs, "utf8").match(/```sql\n([^]*?)```/);
if (!block) throw new Error(`${docs} has no block of SQL`);
const lines = block[1].split(";").map((s) => s.trim()).filter(Boolean);
process.chdir(folder);
const db = await (await DuckDBInstance.create(":memory:")).connect();
for (const sql of lines) {
  const rows = (await db.runAndReadAll(sql)).getRowObjectsJson();
  if (rows.length === 0) throw new Error(`no rows: ${sql}`);
  console.log(sql);
  console.table(rows);
}
