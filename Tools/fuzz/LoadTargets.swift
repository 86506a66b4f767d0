import Foundation
import KVClone
import KVCloneModel

@testable import KVCloneCore
@testable import KVCloneOperations

/// Lines of JSON, loaded into a store that already contains objects.
let loadTargets: [FuzzTarget] = [
  FuzzTarget(name: "ndjson-load", seeds: loadSeeds, run: load)
]

private let loadSeeds: [[UInt8]] = [
  """
  {"kvclone":1,"model":"Fuzz"}
  {"id":"Folder/1","attributes":{"code":"C","title":null},"relationships":{"items":["Item/1"],"sorted":["Item/2","Item/1"]}}
  {"id":"Item/1","attributes":{"number":"1.5","due":"2021-11-15T08:10:00Z"},"relationships":{"folder":"Folder/1"}}
  {"id":"Item/2","attributes":{"photo":{"base64":"AAEC"}},"relationships":{"favorite":"@Item/1","related":["Item/1"]}}
  """,
  """
  {"id":"Item/9","attributes":{"photo":{"file":"blob-1","size":4000},"key":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F"}}

  {"id":"Item/8","attributes":{"photo":{"file":"blob-1"},"due":{"secondsSince2001":-0.25}},"relationships":{"folder":null}}
  """,
  #"{"id":"Item/3","attributes":{"photo":{"file":"../data.mdb"}}}"#,
].map { Array($0.utf8) }

/// Checks that a successful load stores all objects, that a failed load stores none, and that the store is intact in
/// both cases.
@Sendable private func load(_ bytes: UnsafeRawBufferPointer) {
  let template = TemplateStore.shared
  template.write(template.file)
  let files = template.path + "/files"
  if !FileManager.default.fileExists(atPath: files + "/blob-1") {
    try? FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
    FileManager.default.createFile(atPath: files + "/blob-1", contents: Data(repeating: 3, count: 4000))
  }
  guard let store = try? ObjectStore.open(at: template.path) else { fail("the template cannot be opened") }
  defer { store.close() }
  var options = LoadOptions()
  options.baseDirectory = files
  // One transaction or batches, determined by the text so that a failure is reproducible.
  options.batch = bytes.count % 3 == 0 ? 2 : nil
  let before = (try? store.info().objectCount) ?? -1
  var rest = Array(bytes)
  do {
    let result = try store.load(options) { buffer in
      buffer.append(contentsOf: rest.prefix(100))
      rest.removeFirst(min(100, rest.count))
      return !rest.isEmpty
    }
    if try store.info().objectCount != before + result.objectCount { fail("a load tells another number of objects") }
  } catch let error as any KVCloneError {
    let after = (try? store.info().objectCount) ?? -1
    if options.batch == nil, after != before { fail("a load that failed has left something: \(error)") }
  } catch {
    fail("a load ends in another error than the library's: \(error)")
  }
  do {
    let report = try store.check(CheckOptions(readData: true))
    if let damage = report.issues.first { fail("a load leaves damage: \(damage.message)") }
    _ = try store.dump { _ in }
  } catch {
    fail("a store cannot be read after a load: \(error)")
  }
}
