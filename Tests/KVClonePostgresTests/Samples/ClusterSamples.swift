#if Postgres
  import Foundation
  import KVClone
  import KVClonePostgres

  private func open(_ model: ManagedObjectModel) throws {
    let cluster = PostgresCluster("postgresql://app@db1,db2/kv?target_session_attrs=read-write&sslmode=verify-full")
    let store = try cluster.openStore("tenant-42", model: model)
    try store.write { tx in
      let note = try tx.insert("Note", ["title": "Groceries"])
      try tx.insert("Item", ["text": "Milk"], relationships: ["note": [note]])
    }
  }

  private func install() throws {
    let owner = PostgresCluster("service=kv-owner")
    try owner.install()
    owner.close()
  }

  private func options() throws {
    var options = PostgresOptions()
    options.durability = .replicated
    options.connections = 16
    options.cacheBytes = 64 << 20
    let cluster = PostgresCluster("service=kv", options: options)
    let store = try cluster.openStore("tenant-42")
    store.close()
  }

  private func standbys() throws -> Int {
    var options = PostgresOptions()
    options.reads = .standby(maximumLag: .seconds(2))
    let cluster = PostgresCluster("postgresql://app@db1,db2/kv?target_session_attrs=read-write", options: options)
    let store = try cluster.openStore("tenant-42")
    let count = try store.read { tx in try tx.count(entity: "Note") }
    return count
  }

  private func position(_ store: ObjectStore) throws -> String {
    try store.write { tx in try tx.insert("Note", ["title": "Groceries"]) }
    let text = try PostgresCluster.lastCommit(of: store).description
    return text
  }

  private func require(_ text: String, _ store: ObjectStore) throws {
    guard let commit = CommitPosition(text) else { return }
    let titles = try PostgresCluster.read(store, atLeast: commit) { tx in
      try tx.fetch(FetchRequest("Note")).map { try $0.value("title") }
    }
    _ = titles
  }

  private func insert(_ titles: [String], _ store: ObjectStore) throws {
    try store.write { tx in
      for title in titles { try tx.insert("Note", ["title": .string(title)]) }
    }
  }
#endif
