import Foundation
import KVClone
import KVCloneOperations

// The samples of README.md and of the articles, so that they are compiled. `SampleTests` in TidyTests looks for every one of
// them here: a sample stands as it does there, within a function that has what the sample takes for granted.

private func overview() throws {
  let model = try ManagedObjectModel.load(contentsOf: "Notes.xcdatamodeld").model
  let store = try ObjectStore.open(at: "notes.kvclone", model: model)
  let copy = try store.write { tx in
    let note = try tx.insert("Note", ["title": "Groceries"])
    try tx.insert("Item", ["text": "Milk"], relationships: ["note": [note]])
    return try tx.clone(object: note)
  }
  _ = copy
}

private func backups(_ store: ObjectStore) throws {
  let result = try store.backup(to: "/backups/notes-2026-03-01")
  try ObjectStore.restore(from: "/backups/notes-2026-03-01", to: "/stores/notes")
  _ = result
}

private func replicas() throws {
  let path = URL(fileURLWithPath: "replicas/current").resolvingSymlinksInPath().path
  var options = StoreOptions()
  options.isReadOnly = true
  let replica = try ObjectStore.open(at: path, options: options)
  _ = replica
}

private struct SearchIndex {
  func add(_ id: ObjectID) {}
  func remove(_ id: ObjectID) {}
}

private func changes(_ model: ManagedObjectModel, _ index: SearchIndex) async throws {
  var options = StoreOptions()
  options.tracksHistory = true
  options.author = "importer"
  let store = try ObjectStore.open(at: "notes.kvclone", model: model, options: options)

  for try await transaction in store.changes {
    try transaction.forEachChange { change in
      switch change {
      case .inserted(let id): index.add(id)
      case .updated(let id, let properties): if properties.contains("title") { index.add(id) }
      case .deleted(let id, _, _): index.remove(id)
      }
      return true
    }
  }
}

private func tokens(_ store: ObjectStore) throws {
  let token = try store.currentToken()
  let since = try store.history(after: token)
  _ = since
}

private struct Row {
  init(_ id: ObjectID) {}
}

private func liveResults(_ store: ObjectStore) async throws {
  var rows: [Row] = []
  for try await change in store.liveResults(
    for: FetchRequest("Note", sortDescriptors: [QuerySortDescriptor(key: "title")]))
  {
    change.apply(to: &rows) { id in Row(id) }
  }
}

private func commitLog() throws {
  var options = StoreOptions()
  options.journalMode = .writeAheadLog
  let store = try ObjectStore.open(at: "notes.kvclone", options: options)
  _ = store
}

private func clone(_ store: ObjectStore, _ project: ObjectID) throws {
  let result = try store.clone([project])  // a transaction of its own
  let plan = try store.planClone([project])  // the dry run: counts, rules, errors; nothing is written
  try store.write { tx in try tx.clone(object: project) }  // part of a transaction
  _ = (result, plan)
}

private func cloneHooks(_ store: ObjectStore, _ project: ObjectID) throws {
  var options = CloneOptions()
  options.willClone = { edge, source in
    let isDraft = try edge.relationship == "chapters" && source.value(edge.source, "isDraft") == true
    return isDraft ? .skip : edge.rule
  }
  options.didClone = { tx, source, clone in
    if try tx.entityName(of: clone) == "Project" { try tx.set(clone, "name", "A copy") }
  }
  let result = try store.clone([project], options: options)
  _ = result
}

private func cloneInto(_ library: ObjectStore, _ archive: ObjectStore, _ project: ObjectID) throws {
  let result = try library.clone([project], into: archive)  // `result` names objects of `archive`
  _ = result
}

private func importEverything(into store: ObjectStore) throws {}

private func cloneSnapshot(_ store: ObjectStore, _ project: ObjectID) throws {
  try store.createSnapshot(named: "before-import")
  try importEverything(into: store)
  let before = try store.snapshot(named: "before-import")
  let result = try store.clone([project], from: before)  // `project` may be gone by now
  _ = result
}

private func snapshots(_ store: ObjectStore) throws {
  try store.createSnapshot(named: "before-import")
  try importEverything(into: store)
  let before = try store.snapshot(named: "before-import")
  try store.diff(from: before) { difference in
    print(difference.name, difference.propertyNames)
    return true
  }
  let notes = try before.read { tx in try tx.fetch(FetchRequest("Note")) }
  try store.rollback(to: before)
  _ = notes
}

private func pinned(_ store: ObjectStore, _ pages: [FetchRequest], send: ([ManagedObject]) async throws -> Void)
  async throws
{
  let snapshot = try store.pinnedSnapshot(owner: "export")
  defer { snapshot.close() }
  for page in pages {
    let rows = try await snapshot.read { tx in try tx.fetch(page) }
    try await send(rows)
  }
}

private func hooks(_ store: ObjectStore) throws {
  var hooks = ObjectLifecycle()
  hooks.awakeFromInsert = { tx, note in try tx.set(note, "created", .date(Date())) }
  hooks.validateForUpdate = { tx, note in
    if try tx.value(note, "title") == "" { throw LifecycleRejection(property: "title", "is empty") }
  }
  try store.register(hooks, for: "Note")
}

private func mergePolicy(_ store: ObjectStore) throws {
  let result = try store.write(mergePolicy: .mergeByPropertyObjectTrump) { tx in
    try tx.batchInsert(
      "Tag", [["label": "red", "color": "#f00"], ["label": "blue", "color": "#00f"]], resultType: .objectIDs)
  }
  _ = result
}

private func repair(_ store: ObjectStore) throws {
  let report = try store.repair()
  print(report.before.issues.count, "repaired,", report.after.issues.count, "left")
}

private func salvage(_ damaged: String, _ new: String) throws {
  let report = try ObjectStore.salvage(from: damaged, to: new)
  for loss in report.losses { print(loss.kind, loss.object ?? "", loss.property ?? "", loss.message) }
}

private func export(_ store: ObjectStore) throws {
  let result = try store.export(to: "notes-export")
  print(result.objectCount, "objects of", result.modelBundle)
}
