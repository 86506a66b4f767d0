/// Replaces the form of a change in a read-only explorer.
enum ReadOnlyNotice {
  static let html = Components.notice(
    "The explorer is read-only. To allow changes, start it with kvclone explore --write.")
}
