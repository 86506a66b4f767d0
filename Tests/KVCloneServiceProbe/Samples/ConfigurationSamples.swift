// The samples of the article on services.
#if Service && Configuration
  import Configuration
  import KVClone
  import KVCloneConfiguration
  import KVCloneService
  import Logging

  private func open(_ model: ManagedObjectModel, logger: Logger) throws -> StoreService {
    let config = ConfigReader(provider: EnvironmentVariablesProvider()).scoped(to: "kvclone")
    let options = try StoreOptions(config: config)
    let store = try ObjectStore.open(at: "notes.kvclone", model: model, options: options)
    return StoreService(store, configuration: try StoreServiceConfiguration(config: config), logger: logger)
  }
#endif

#if Postgres && Configuration
  import KVClonePostgres

  private func openCluster(_ config: ConfigReader) throws {
    let cluster = try PostgresCluster(config: config.scoped(to: "cluster"))
    let store = try cluster.openStore("tenant-42", options: try StoreOptions(config: config.scoped(to: "store")))
    store.close()
  }
#endif
