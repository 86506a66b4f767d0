#if Service && Configuration
  import Configuration
  import KVClone
  import KVCloneConfiguration
  import KVCloneService
  #if Postgres
    import KVClonePostgres
  #endif

  extension Probe {
    /// Options have the values of a configuration, and values that cannot be used are errors with their keys.
    func checkConfiguration() {
      checkEnvironment()
      checkTypedValues()
      checkDefaults()
      checkInvalidValues()
      #if Postgres
        checkCluster()
      #endif
    }

    private func options(_ variables: [String: String]) throws(StoreConfigurationError) -> StoreOptions {
      let provider = EnvironmentVariablesProvider(environmentVariables: variables)
      return try StoreOptions(config: ConfigReader(provider: provider).scoped(to: "kvclone"))
    }

    private func checkEnvironment() {
      do {
        let options = try options([
          "KVCLONE_BUSY_TIMEOUT": "2.5", "KVCLONE_IS_READ_ONLY": "true", "KVCLONE_JOURNAL_MODE": "writeAheadLog",
          "KVCLONE_WAL_SIZE_LIMIT": "2000000", "KVCLONE_MAXIMUM_FILE_BYTES": "1000000000000",
          "KVCLONE_TRACKS_HISTORY": "false", "KVCLONE_AUTHOR": "import", "KVCLONE_AUTOMATIC_MIGRATION": "true",
          "KVCLONE_PINNED_SNAPSHOT_LIMIT": "3", "KVCLONE_PINNED_SNAPSHOT_MAXIMUM_AGE": "none",
          "KVCLONE_GROUP_COMMIT_MAXIMUM_COUNT": "7", "KVCLONE_GROUP_COMMIT_MAXIMUM_DURATION": "0.25",
          "KVCLONE_SNAPSHOT_RETENTION_DAILY": "30",
        ])
        findings.expect(options.busyTimeout == .milliseconds(2_500), "a fraction of seconds: \(options.busyTimeout)")
        findings.expect(options.isReadOnly, "a flag from the environment")
        findings.expect(options.journalMode == .writeAheadLog, "a journal mode from the environment")
        findings.expect(options.walSizeLimit == 2_000_000, "a size from the environment")
        findings.expect(options.maximumFileBytes == 1_000_000_000_000, "a size above 32 bits")
        findings.expect(options.tracksHistory == false, "a flag that can be unset")
        findings.expect(options.author == "import", "a text from the environment")
        findings.expect(options.automaticMigration != nil, "automatic migration")
        findings.expect(
          options.pinnedSnapshotLimit == 3 && options.pinnedSnapshotMaximumAge == nil, "limits of pinned snapshots")
        findings.expect(
          options.groupCommit.maximumCount == 7 && options.groupCommit.maximumDuration == .milliseconds(250),
          "nested options of group commit")
        findings.expect(options.snapshotRetention.daily == 30, "nested options of the retention")
      } catch {
        findings.expect(false, "valid options were refused: \(error)")
      }
    }

    /// Providers for files and memory have numbers and flags, and not their texts.
    private func checkTypedValues() {
      let config = ConfigReader(
        provider: InMemoryProvider(values: [
          "store.busyTimeout": 3, "store.isReadOnly": true, "store.maximumObjectCount": 12,
          "store.groupCommit.maximumDuration": ConfigValue(.double(0.5), isSecret: false),
          "service.name": "notes", "service.metricsInterval": 20,
        ]))
      do {
        let options = try StoreOptions(config: config.scoped(to: "store"))
        findings.expect(options.busyTimeout == .seconds(3), "whole seconds as an integer")
        findings.expect(options.isReadOnly && options.maximumObjectCount == 12, "a flag and an integer")
        findings.expect(options.groupCommit.maximumDuration == .milliseconds(500), "a duration as a number")
        let service = try StoreServiceConfiguration(config: config.scoped(to: "service"))
        findings.expect(
          service.name == "notes" && service.metricsInterval == .seconds(20) && service.writerPatience == .seconds(60),
          "the configuration of a service")
      } catch {
        findings.expect(false, "valid typed options were refused: \(error)")
      }
    }

    private func checkDefaults() {
      do {
        let options = try options([:])
        let standard = StoreOptions()
        findings.expect(
          options.busyTimeout == standard.busyTimeout && !options.isReadOnly && options.tracksHistory == nil
            && options.maximumObjectCount == nil && options.automaticMigration == nil
            && options.pinnedSnapshotMaximumAge == standard.pinnedSnapshotMaximumAge
            && options.groupCommit == standard.groupCommit && options.snapshotRetention == standard.snapshotRetention,
          "without values, options have their defaults")
      } catch {
        findings.expect(false, "an empty configuration was refused: \(error)")
      }
    }

    private func checkInvalidValues() {
      let invalid = [
        ("KVCLONE_BUSY_TIMEOUT", "-1", "busyTimeout"), ("KVCLONE_BUSY_TIMEOUT", "5s", "busyTimeout"),
        ("KVCLONE_IS_READ_ONLY", "perhaps", "isReadOnly"), ("KVCLONE_JOURNAL_MODE", "rollback", "journalMode"),
        ("KVCLONE_MAXIMUM_READERS", "0", "maximumReaders"), ("KVCLONE_SPILL_BUDGET", "16 MiB", "spillBudget"),
        ("KVCLONE_GROUP_COMMIT_MAXIMUM_COUNT", "many", "groupCommit.maximumCount"),
      ]
      for (variable, value, key) in invalid {
        do {
          _ = try options([variable: value])
          findings.expect(false, "\(variable)=\(value) was accepted")
        } catch {
          findings.expect(error.key == key && error.message.contains(key), "the error names \(key): \(error)")
          findings.expect(error.kindName == "invalidConfiguration", "the kind of the error: \(error.kindName)")
          findings.expect(!error.message.contains(value), "the error leaves out the value: \(error)")
        }
      }
      let list = ConfigReader(
        provider: InMemoryProvider(values: ["author": ConfigValue(.stringArray(["a", "b"]), isSecret: false)]))
      findings.expect((try? StoreOptions(config: list)) == nil, "a list is no text, and not a missing value either")
    }

    #if Postgres
      private func checkCluster() {
        let config = ConfigReader(
          provider: InMemoryProvider(values: [
            "address": "postgresql://nowhere/none", "durability": "replicated", "connections": 5, "cacheBytes": 0,
            "writerIdleLimit": 1,
          ]))
        do {
          let cluster = try PostgresCluster(config: config)
          let options = cluster.options
          findings.expect(
            options.durability == .replicated && options.connections == 5 && options.cacheBytes == 0
              && options.writerIdleLimit == .seconds(1) && options.watchInterval == .milliseconds(100),
            "the options of a cluster")
          cluster.close()
        } catch {
          findings.expect(false, "valid options of a cluster were refused: \(error)")
        }
        do {
          _ = try PostgresCluster(config: ConfigReader(provider: InMemoryProvider(values: ["connections": 5])))
          findings.expect(false, "a cluster without an address was accepted")
        } catch {
          findings.expect(error.key == "address", "the error names the address: \(error)")
        }
        let refused = ConfigReader(provider: InMemoryProvider(values: ["writerIdleLimit": 0]))
        findings.expect((try? PostgresOptions(config: refused)) == nil, "a limit of zero is refused")
      }
    #endif
  }
#endif
