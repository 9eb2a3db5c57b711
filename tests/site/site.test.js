// The built site in a real browser, served from plain files below a path: SITE is its folder.

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { golden, missing, start } from '../../bindings/web/test/browser/chromium.js'

const skip = missing() ?? false
const site = resolve(process.env.SITE ?? 'target/site')
const PREFIX = '/meshreel/'
const served = mkdtempSync(join(tmpdir(), 'meshreel-'))
symlinkSync(site, join(served, PREFIX.replaceAll('/', '')))

let browser
/** All that the console, the page and the network complain about, and requests to other servers. */
const faults = []

before(async () => {
    if (skip) return
    browser = await start({ root: served, page: `${PREFIX}index.html` })
    const { page, server } = browser
    page.setDefaultTimeout(120_000)
    page.on('console', message => message.type() === 'error' && faults.push(`${page.url()}: ${message.text()}`))
    page.on('pageerror', error => faults.push(`${page.url()}: ${error.message}`))
    // Leaving a page ends its requests.
    const isEnded = request => request.failure()?.errorText === 'net::ERR_ABORTED'
    page.on('requestfailed', request => isEnded(request) || faults.push(`${request.url()}: ${request.failure()?.errorText}`))
    page.on('response', response => response.status() >= 400 && faults.push(`${response.url()}: ${response.status()}`))
    page.on('request', request => {
        const { protocol } = new URL(request.url())
        if (protocol === 'http:' && !request.url().startsWith(server.url(PREFIX))) faults.push(`${request.url()}: elsewhere`)
        if (protocol === 'https:') faults.push(`${request.url()}: elsewhere`)
    })
})
beforeEach(() => faults.splice(0))
after(async () => {
    await browser?.end()
    rmSync(served, { recursive: true })
})

const visit = path => browser.page.goto(browser.server.url(PREFIX + path), { waitUntil: 'load' })

/** The pictures of the page that have not loaded. */
const unloaded = () =>
    browser.page.evaluate(async () => {
        const pictures = [...document.querySelectorAll('main img')]
        await Promise.all(pictures.map(picture => picture.decode().catch(() => null)))
        return pictures.filter(picture => !(picture.naturalWidth > 1)).map(picture => picture.src)
    })

test('every page opens without an error, and its pictures load', { skip }, async () => {
    const pages = readdirSync(site, { recursive: true }).filter(name => name.endsWith('.html') && !/^player|^(404|toc)/.test(name))
    assert.ok(pages.length > 25, `${pages.length} pages`)
    for (const name of pages) {
        await visit(name)
        assert.deepEqual(await unloaded(), [], name)
        assert.ok(await browser.page.locator('main h1').count(), `${name} has no heading`)
    }
    assert.deepEqual(faults, [])
})

test('the search finds a word, and leads to it', { skip }, async () => {
    const { page } = browser
    await visit('index.html')
    await page.click('#mdbook-search-toggle')
    await page.locator('#mdbook-searchbar').pressSequentially('parallelogram')
    const first = page.locator('#mdbook-searchresults a').first()
    await first.waitFor()
    await first.click()
    await page.waitForURL(/METHODS|FORMAT/)
    assert.ok(await page.locator('mark').count(), 'the word is not marked')
    assert.deepEqual(faults, [])
})

test('the gallery has animated pictures with their commands', { skip }, async () => {
    const { page } = browser
    await visit('gallery.html')
    const [pictures, commands] = [page.locator('main img:visible'), page.locator('main pre > code')]
    const count = await pictures.count()
    assert.ok(count >= 4, `${count} pictures`)
    for (const command of await commands.allTextContents()) assert.match(command, /^meshreel compile .*\nmeshreel plot .* --animate /)
    assert.equal(await commands.count(), count)
    const different = (one, other) => Buffer.compare(one, other) !== 0
    for (let i = 0; i < count; i++) {
        const picture = pictures.nth(i)
        await picture.scrollIntoViewIfNeeded()
        const first = await picture.screenshot()
        const until = performance.now() + 60_000
        let moved = false
        while (!moved && performance.now() < until) moved = different(first, await picture.screenshot())
        assert.ok(moved, `${await picture.getAttribute('src')} does not move`)
    }
    assert.deepEqual(faults, [])
})

test('the live demo plays each scene inside its page, with its figures', { skip }, async () => {
    const { page } = browser
    await visit('demo.html')
    const frame = await (await page.waitForSelector('iframe')).contentFrame()
    await frame.waitForFunction(() => window.demo?.group?.frames > 3)
    const files = await frame.locator('#file option').evaluateAll(options => options.map(option => option.value).filter(Boolean))
    assert.equal(files.length, 3)
    for (const file of files) {
        await frame.selectOption('#file', file)
        const name = file.split('/').pop()
        await frame.waitForFunction(name => demo.group.name.endsWith(`/${name}`) && demo.group.frames > 3, name)
        await frame.waitForFunction(() => /times as large.*frames at.*triangles/.test(document.getElementById('figures').textContent))
        assert.equal(await frame.textContent('#error'), '')
    }
    assert.deepEqual(faults, [])
})

test('the live demo in a page of its own takes a dropped file, ten thousand times', { skip }, async () => {
    const { page } = browser
    await visit('player/index.html')
    await page.waitForFunction(() => window.demo?.group?.frames > 3)
    // Two triangles: graphics without a card are slow.
    const bytes = [...readFileSync(golden('v0/square.reel'))]
    await page.evaluate(bytes => {
        const data = new DataTransfer()
        data.items.add(new File([Uint8Array.from(bytes)], 'square.reel'))
        dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }))
    }, bytes)
    await page.waitForFunction(() => demo.group.name === 'square.reel' && demo.group.frames > 3)
    await page.click('label:has(#many)')
    await page.waitForFunction(() => /10,000 copies/.test(document.getElementById('figures').textContent))
    const drawn = await page.evaluate(() => demo.drawn)
    await page.waitForFunction(drawn => demo.drawn > drawn + 1, drawn)
    assert.ok((await page.evaluate(() => demo.info.render.triangles)) >= 20_000)
    await page.setInputFiles('#own', golden('v0/flag_fast.reel'))
    await page.waitForFunction(() => demo.group.name === 'flag_fast.reel' && demo.group.frames > 3)
    assert.equal(await page.textContent('#error'), '')
    assert.deepEqual(faults, [])
})
