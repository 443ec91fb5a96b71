// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Configuration of the documentation site. hack/build-docs-site.sh copies the pages to src/.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const src = join(dirname(fileURLToPath(import.meta.url)), '..', 'src')
const root = join(src, '..', '..', '..')
const repository = 'https://github.com/slipway-dev/slipway/blob/main/'

// The sidebar has a section for each kind of document, and one for pages at the top.
const directories = { Tutorials: 'tutorials', 'How to': 'how-to', Operate: 'how-to/operate', Machines: 'how-to/machines', Concepts: 'concepts', Reference: 'reference', Contribute: 'contributing', More: '' }
const pagesOf = (directory) => !existsSync(join(src, 'docs', directory)) ? [] :
  readdirSync(join(src, 'docs', directory)).filter((f) => f.endsWith('.md')).map((f) => join(directory, f.slice(0, -3)))
const sections = Object.fromEntries(Object.entries(directories).map(([text, directory]) => [text, pagesOf(directory)]))

const title = (page) => {
  const heading = /^# +(.+)$/m.exec(readFileSync(join(src, page), 'utf8'))
  if (!heading) throw new Error(`${page} has no heading`)
  return heading[1].replaceAll('`', '')
}

// A link to a page stays unchanged. A link to another file of the repository opens it on GitHub.
function links(md) {
  md.core.ruler.push('repository-links', (state) => {
    const walk = (tokens) => tokens.forEach((token) => {
      if (token.children) walk(token.children)
      const href = token.type === 'link_open' && token.attrGet('href')
      if (!href || /^([a-z]+:|#|\/)/.test(href)) return
      const [path, fragment] = decodeURI(href).split('#')
      const target = normalize(join(dirname(state.env.relativePath), path))
      if (!existsSync(join(root, target))) throw new Error(`${state.env.relativePath} has a link to ${href}, which does not exist`)
      if (target === 'README.md') token.attrSet('href', '/' + (fragment ? `#${fragment}` : ''))
      else if (!existsSync(join(src, target)) || !target.endsWith('.md')) token.attrSet('href', repository + target)
    })
    walk(state.tokens)
  })
  // Braces in the text are not templates of this site.
  for (const rule of ['text', 'code_inline']) {
    const render = md.renderer.rules[rule]
    md.renderer.rules[rule] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
  }
}

// Anchors are those of GitHub, so that a link works in both.
const slugify = (heading) => heading.toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, '').replaceAll(' ', '-')

export default {
  title: 'Slipway',
  description: 'Virtual machines on vSphere as native Kubernetes API objects',
  srcDir: 'src',
  outDir: '../docs-site',
  cleanUrls: false,
  markdown: { html: false, config: links, anchor: { slugify } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [{ text: 'Architecture', link: '/ARCHITECTURE' }, { text: 'Contributing', link: '/CONTRIBUTING' }, { text: 'Changes', link: '/CHANGELOG' }],
    sidebar: Object.entries(sections).filter(([, pages]) => pages.length > 0).map(([text, pages]) => ({
      text, items: pages.map((page) => ({ text: title(`docs/${page}.md`), link: `/docs/${page}` })),
    })),
  },
}
