// Run the SQL statements of docs/results.md on a folder of results and print their rows.
// A statement that fails or returns no rows fails the check.
//   node .ci/duckdb.mjs DOCS FOLDER
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [docs, folder] = process.argv.slice(2);
// The client is installed in the working directory, not next to this file.
const { DuckDBInstance } = createRequire(process.cwd() + "/")("@duckdb/node-api");
const block = readFileSync(docs, "utf8").match(/```sql\n([^]*?)```/);
if (!block) throw new Error(`no SQL block in ${docs}`);
const statements = block[1].split(";").map((s) => s.trim()).filter(Boolean);
process.chdir(folder);
const db = await (await DuckDBInstance.create(":memory:")).connect();
for (const sql of statements) {
  const rows = (await db.runAndReadAll(sql)).getRowObjectsJson();
  if (rows.length === 0) throw new Error(`no rows: ${sql}`);
  console.log(sql);
  console.table(rows);
}
