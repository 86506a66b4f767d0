/// A row of the benchmark, by its name for `--only`.
enum ServiceRow: String, CaseIterable {
  case tasks64 = "tasks-64"
  case tasks8 = "tasks-8"
  case tasks1 = "tasks-1"
  case links
  case readersLimited = "readers-limited"
  case readers
  case savepoints

  var title: String {
    switch self {
    case .tasks64: "64 tasks, each writing one object per durable transaction"
    case .tasks8: "8 tasks, each writing one object per durable transaction"
    case .tasks1: "1 task, writing one object per durable transaction"
    case .links: "1 task, writing one object with two links per durable transaction"
    case .readersLimited: "a writer next to 8 readers by id with 20,000 reads/s together"
    case .readers: "a writer next to 8 readers by id without a limit"
    case .savepoints: "1,000 inserts in one durable transaction, each in a savepoint, half of which throw"
    }
  }
}
