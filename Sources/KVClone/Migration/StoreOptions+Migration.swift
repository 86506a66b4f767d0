public import KVCloneCore

extension StoreOptions {
  /// The options for migrating a store of another model version when it is opened; nil, the default, for no migration.
  ///
  /// With nil, opening a store with another model version throws `incompatibleModel`. A migration rewrites all affected
  /// records before the store is open. Check
  /// ``ObjectStore/planMigration(at:to:migration:options:progress:cancellation:)`` before enabling this in a service.
  public var automaticMigration: MigrationOptions? {
    get { features[ObjectIdentifier(MigrationOptions.self)] as? MigrationOptions }
    set { features[ObjectIdentifier(MigrationOptions.self)] = newValue }
  }
}
