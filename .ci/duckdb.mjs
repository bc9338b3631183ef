// Run the SQL statements of a page or of a Python script on a folder of results and print
// their rows. A statement that fails, or a query without rows, fails the check.
//   node .ci/duckdb.mjs DOCS FOLDER
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [docs, folder] = process.argv.slice(2);
// The client is installed in the working directory, not next to this file.
const { DuckDBInstance } = createRequire(process.cwd() + "/")("@duckdb/node-api");
const sql = docs.endsWith(".py") ? /^[A-Z_]+ = """\n([^]*?)"""/gm : /```sql\n([^]*?)```/g;
const blocks = [...readFileSync(docs, "utf8").matchAll(sql)];
if (blocks.length === 0) throw new Error(`no SQL in ${docs}`);
const statements = blocks.flatMap((block) => block[1].split(";")).map((s) => s.trim()).filter(Boolean);
process.chdir(folder);
const db = await (await DuckDBInstance.create(":memory:")).connect();
for (const sql of statements) {
  const rows = (await db.runAndReadAll(sql)).getRowObjectsJson();
  if (rows.length === 0 && !sql.startsWith("CREATE")) throw new Error(`no rows: ${sql}`);
  console.log(sql);
  console.table(rows);
}
