"""Workflows call scripts that exist, and actions of a named version; forms for issues are complete."""

import os
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = re.compile(r'(?:tools|tests|bindings|integrations)/[\w/.-]+\.(?:sh|py)|\./[\w-]+\.sh')


def check_step(step: dict, where: str) -> int:
    """Checks what a step uses or runs; returns the number of scripts that it calls."""
    action = step.get('uses', '')
    if action.startswith('./'):
        assert (ROOT / action / 'action.yml').is_file(), f'{where}: no action {action}'
    elif action:
        assert re.search(r'@(?:release/)?v\d+$|@[0-9a-f]{40}$', action), f'{where}: {action} names no version'
    command = step.get('run', '')
    scripts = SCRIPT.findall(command)
    for script in scripts:
        path = ROOT / step.get('working-directory', '.') / script
        assert path.is_file(), f'{where}: no file {script}'
        assert script.endswith('.py') or os.access(path, os.X_OK), f'{where}: {script} cannot be executed'
    for parts in re.findall(r'tests/release\.sh ([a-z ]+)', command):
        for part in parts.split():
            text = (ROOT / 'tests/release.sh').read_text()
            assert re.search(rf'^{part}\(\) ', text, re.M), f'{where}: tests/release.sh has no part {part}'
    return len(scripts)


called = 0
for path in sorted((ROOT / '.github').glob('workflows/*.yml')):
    workflow = yaml.safe_load(path.read_text())
    assert workflow['permissions'] == {'contents': 'read'}, f'{path.name}: more rights than reading'
    for name, job in workflow['jobs'].items():
        for step in job['steps']:
            called += check_step(step, f'{path.name}, {name}')
        if name.startswith('publish-'):
            needs = job['needs'] if isinstance(job['needs'], list) else [job['needs']]
            told = all(need.startswith('publish-') for need in needs)
            assert told or "vars.PUBLISH == 'true'" in job.get('if', ''), f'{name}: does not ask for PUBLISH'
for path in sorted((ROOT / '.github').glob('actions/*/action.yml')):
    for step in yaml.safe_load(path.read_text())['runs']['steps']:
        called += check_step(step, str(path))
assert called >= 15, called

for path in sorted((ROOT / '.github/ISSUE_TEMPLATE').glob('*.yml')):
    form = yaml.safe_load(path.read_text())
    if path.name == 'config.yml':
        assert all(link.keys() == {'name', 'url', 'about'} for link in form['contact_links']), path.name
        continue
    assert form['name'] and form['description'], path.name
    identities = [field['id'] for field in form['body'] if field['type'] != 'markdown']
    assert len(set(identities)) == len(identities) > 0, f'{path.name}: {identities}'
    for field in form['body']:
        assert field['type'] in ('markdown', 'textarea', 'input', 'dropdown', 'checkboxes'), path.name
        assert field['type'] == 'markdown' or field['attributes']['label'], path.name
print(f'{called} calls of scripts')
