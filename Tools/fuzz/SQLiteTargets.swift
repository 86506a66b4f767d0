import KVCloneModel
import KVCloneTestSupport

@testable import KVCloneCoreData

/// SQLite databases, their logs, and the models in them.
let sqliteTargets: [FuzzTarget] = [
  FuzzTarget(name: "sqlite", seeds: sqliteSeeds, run: sqlite),
  FuzzTarget(name: "inflate", seeds: [[1, 3, 0, 0xFC, 0xFF, 7, 8, 9], [0x4B, 0x4C, 0x84, 0x01, 0x00]], run: inflate),
]

/// A small database; the first byte selects whether the rest is the database or its log.
private let sqliteSeeds: [[UInt8]] = {
  var writer = SQLiteWriter(pageSize: 512)
  writer.add(
    "T", "CREATE TABLE T (Z_PK INTEGER PRIMARY KEY, A INTEGER, B VARCHAR DEFAULT 'x', C BLOB)",
    (Int64(1)...12).map { key in
      (
        id: key,
        values: [.null, .integer(key * 1000), .text("text"), .blob([UInt8](repeating: 7, count: Int(key) * 60))]
      )
    })
  let log = SQLiteWriter.log([.init(page: 2, bytes: [UInt8](repeating: 0, count: 512), size: 2)], pageSize: 512)
  return [[0] + writer.bytes(), [1] + log]
}()

/// Checks that reading all rows of all tables succeeds or fails with an error, and terminates.
@Sendable private func sqlite(_ bytes: UnsafeRawBufferPointer) {
  var input = FuzzInput(bytes)
  let isLog = input.byte() & 1 == 1
  let rest = input.remaining
  let main = isLog ? Array(sqliteSeeds[0].dropFirst()) : rest
  guard let file = try? SQLiteFile(SQLiteBytes(main), log: isLog ? SQLiteBytes(rest) : nil),
    let tables = try? file.tables()
  else { return }
  for table in tables.values {
    guard let scan = try? SQLiteScan(file, table) else { continue }
    while (try? scan.next()) == true {
      for column in 0..<table.columns.count + 1 {
        let value = try? scan.value(column)
        guard case .longBlob(let count)? = value else { continue }
        var read = 0
        guard (try? scan.readChunks(column) { read += $0.count }) != nil else { continue }
        if read != count { fail("a long value has other bytes than it says") }
      }
    }
  }
  _ = try? CoreDataStore(file)
}

@Sendable private func inflate(_ bytes: UnsafeRawBufferPointer) {
  let limit = 1 << 16
  guard let output = try? Inflate.bytes(of: Array(bytes), limit: limit) else { return }
  if output.count > limit { fail("more bytes than the limit") }
  _ = try? ModelArchive.model(in: output, name: "M").model.validate()
}
