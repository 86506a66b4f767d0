import Foundation
import KVCloneTestSupport
import Testing

@testable import KVCloneCoreData

/// The reader against databases that SQLite itself wrote, through Python's module.
@Suite(
  "SQLite reader: databases of SQLite's",
  .enabled(if: Python.hasSQLite, "there is no python3 with its sqlite3 module"))
struct SQLitePythonTests {
  /// Creates a database of a form, and prints the rows that SQLite reads from it: a line per row, with the values'
  /// types and bytes.
  private static let script = """
    import sqlite3, sys, shutil, random
    path, form, pagesize = sys.argv[1], sys.argv[2], int(sys.argv[3])
    random.seed(pagesize)
    made = path + '.made'
    db = sqlite3.connect(made)
    db.execute(f'pragma page_size={pagesize}')
    if form.startswith('UTF-16'): db.execute(f"pragma encoding='{form}'")
    if form == 'vacuum': db.execute('pragma auto_vacuum=incremental')
    if form.startswith('wal'): db.execute('pragma journal_mode=wal'); db.execute('pragma wal_autocheckpoint=0')
    db.execute('create table t (k integer primary key, i integer, r float, s varchar, b blob)')
    def row(n):
        return (
            random.choice([0, 1, -1, 200, -40000, 1 << 20, -(1 << 40), (1 << 62) + n, None]),
            random.choice([None, n / 3, 1e300, n]),
            random.choice([None, '', 'ä𝄞' * (n % 90), 'x' * (n % 4000)]),
            random.choice(
                [None, b'', random.randbytes(n % 700), random.randbytes(20000 if n % 10 == 0 else 2500)]))
    for n in range(800): db.execute('insert into t values (?,?,?,?,?)', (n * 7 - 500,) + row(n))
    db.commit()
    db.execute('delete from t where k % 5 = 0')
    db.execute("update t set s = s || 'longer', b = null where k % 11 = 0")
    db.commit()
    if form == 'added':
        db.execute("alter table t add column a integer default 42")
        db.execute("alter table t add column z varchar default 'it''s'")
        db.execute("insert into t values (100000, 1, 2, 'x', null, 5, 'y')")
        db.commit()
    if form == 'vacuum': db.execute('pragma incremental_vacuum(10)'); db.commit()
    if form == 'wal-half':
        db.execute('pragma wal_checkpoint(passive)')
        db.execute("insert into t values (100000, 1, 2, 'x', null)")
        db.commit()
    if form == 'wal-cut':
        db.execute('begin'); db.execute('pragma cache_size=1')
        db.execute('create table other as select * from t')
        shutil.copy(made, path); shutil.copy(made + '-wal', path + '-wal')
        db.rollback()
    else:
        shutil.copy(made, path)
        if form.startswith('wal'): shutil.copy(made + '-wal', path + '-wal')
    def shown(v):
        if v is None: return 'n'
        if isinstance(v, int): return f'i{v}'
        if isinstance(v, float): return 'r' + v.hex()
        if isinstance(v, str): return 's' + v.encode().hex()
        return 'b' + v.hex()
    with open(path + '.txt', 'w') as out:
        for r in db.execute('select * from t order by k'): out.write(' '.join(map(shown, r)) + '\\n')
    """

  /// Whether a value equals the script's output, except for floating-point numbers, which are compared through their
  /// hexadecimal form.
  private static func isShown(_ value: SQLiteValue, _ text: Substring) -> Bool {
    func hex(_ bytes: some Sequence<UInt8>) -> String {
      bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    switch value {
    case .null: return text == "n"
    case .integer(let number):
      return text == "i\(number)" || text.first == "r" && Double(text.dropFirst()) == Double(number)
    case .real(let number): return text.first == "r" && Double(text.dropFirst()) == number
    case .text(let string): return text == "s" + hex(string.utf8)
    case .unreadableText: return false
    case .blob(let bytes): return text == "b" + hex(bytes)
    case .longBlob(let count): return text.utf8.count == 1 + 2 * count
    }
  }

  private static let forms = ["plain", "UTF-16le", "UTF-16be", "vacuum", "added", "wal", "wal-half", "wal-cut"]

  @Test("every row as SQLite reads it", arguments: forms)
  func form(_ form: String) throws {
    let folder = NSTemporaryDirectory() + "/kvclone-sqlite-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Data(Self.script.utf8).write(to: URL(fileURLWithPath: folder + "/make.py"))
    for pageSize in [512, 4096, 65_536] {
      let path = "\(folder)/\(pageSize)"
      #expect(try Python.run([folder + "/make.py", path, form, "\(pageSize)"]) == 0)
      let log = FileHandle(forReadingAtPath: path + "-wal").map { SQLiteHandle($0) }
      #expect((log != nil) == form.hasPrefix("wal"))
      let file = try SQLiteFile(SQLiteHandle(try #require(FileHandle(forReadingAtPath: path))), log: log)
      let table = try #require(try file.table("T"))
      let scan = try SQLiteScan(file, table)
      let lines = try String(contentsOfFile: path + ".txt", encoding: .utf8).split(separator: "\n")
      var count = 0
      while try scan.next() {
        guard count < lines.count else { break }
        let shown = lines[count].split(separator: " ")
        var isEqual = shown.count == table.columns.count
        for (column, text) in shown.enumerated() where isEqual { isEqual = Self.isShown(try scan.value(column), text) }
        #expect(isEqual, "\(form), page size \(pageSize), row \(count)")
        if !isEqual { break }
        count += 1
      }
      #expect(count == lines.count, "\(form), page size \(pageSize)")
      try file.requireUnchanged()
    }
  }
}
