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

  private func insert(_ titles: [String], _ store: ObjectStore) throws {
    try store.write { tx in
      for title in titles { try tx.insert("Note", ["title": .string(title)]) }
    }
  }
#endif
