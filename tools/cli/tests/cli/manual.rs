//! Tests of `manual`: what packages of the program contain besides it.

use super::common::{names, run, run_line};

#[test]
fn each_verb_has_a_page_and_each_shell_its_completions() {
    let directory = tempfile::tempdir().unwrap();
    run_line("manual -o $OUT", &[("$OUT", directory.path())]).expect(0);
    let help = run(["--help"]).expect(0).stdout;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
    let verbs = lines.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split_whitespace().next());
    let verbs: Vec<&str> = verbs.filter(|verb| *verb != "help").collect();
    assert!(verbs.contains(&"compile") && !verbs.contains(&"manual"), "{verbs:?}");
    let pages = names(&directory.path().join("man1"));
    assert_eq!(pages.len(), verbs.len() + 1, "{pages:?}");
    for verb in verbs {
        let page = directory.path().join("man1").join(format!("meshreel-{verb}.1"));
        assert!(std::fs::read_to_string(page).unwrap().contains("OPTIONS"), "{verb}");
    }
    let completions = directory.path().join("completions");
    for name in ["meshreel.bash", "_meshreel", "meshreel.fish", "_meshreel.ps1"] {
        assert!(std::fs::read_to_string(completions.join(name)).unwrap().contains("compile"), "{name}");
    }
}
