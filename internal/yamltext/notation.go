// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package yamltext

import (
	"slices"
	"strconv"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
)

const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// notation returns a text that is the same for scalars that every reader takes for the same value. Quotes count only where a text without them might be something else,
// such as yes, 1.10 or null.
func notation(scalar *yaml.Node) string {
	switch {
	case scalar.Style&yaml.TaggedStyle != 0:
		return scalar.Tag + " " + scalar.Value
	case scalar.Style&quoted != 0 && !isPlain(scalar.Value):
		return strconv.Quote(scalar.Value)
	case scalar.ShortTag() == "!!null":
		return "null"
	}
	return scalar.Value
}

// isPlain reports whether a text needs no quotes, neither in YAML 1.1 nor in YAML 1.2.
func isPlain(text string) bool {
	var old any
	if yamlv2.Unmarshal([]byte(text), &old) != nil || old != text {
		return false
	}
	return (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).ShortTag() == "!!str"
}

// isSame reports whether two values are the same to every reader. Comments and the style do not count.
func isSame(a, b *yaml.Node) bool {
	switch {
	case a.Kind != b.Kind || !slices.EqualFunc(a.Content, b.Content, isSame):
		return false
	case a.Kind == yaml.ScalarNode:
		return notation(a) == notation(b)
	case a.Kind == yaml.AliasNode:
		return a.Value == b.Value
	}
	return a.ShortTag() == b.ShortTag()
}

// hasSameAnchors reports whether the same values have the same anchors.
func hasSameAnchors(a, b *yaml.Node) bool {
	return a.Anchor == b.Anchor && slices.EqualFunc(a.Content, b.Content, hasSameAnchors)
}
