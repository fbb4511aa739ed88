// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deed is something that a command changes.
type deed struct {
	// prepare makes what is going to be changed, and returns the command.
	prepare func(p *place) []string
	// asked is the question on a terminal, in which PLACE stands for the namespace; empty if there is none.
	asked string
	// state is what is changed, in words, and want is what it is afterwards.
	state func(p *place) string
	want  string
}

// allDeeds has one for each command that changes something.
func allDeeds() map[string]deed {
	return map[string]deed{
		"apply": {
			prepare: func(p *place) []string {
				p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+configMap("b", "1")))
				return []string{"apply", "web", p.file("app.yaml", configMap("a", "2")+configMap("c", "1"))}
			},
			asked: "Change release PLACE/web?", state: valuesOf("a", "b", "c"), want: "a=2 b= c=1",
		},
		"delete": {
			prepare: func(p *place) []string {
				p.must("apply", "web", p.file("app.yaml", manifestOf("one")+job("after", "deletion-hook", "post-delete")+
					"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: two, annotations: {clm.cs.sap.com/delete-policy: orphan}}}"))
				return []string{"delete", "web"}
			},
			asked: "Delete release PLACE/web?", state: ownersOf("one", "two"), want: "one=none two=",
		},
		"rollback": {
			prepare: func(p *place) []string {
				p.must("apply", "web", p.file("app.yaml", configMap("a", "1")))
				p.must("apply", "web", p.file("app.yaml", configMap("a", "2")))
				return []string{"rollback", "web"}
			},
			asked: "Roll back release PLACE/web?", state: valuesOf("a"), want: "a=1",
		},
		"adopt": {
			prepare: func(p *place) []string {
				p.applyShop()
				p.clm("apply", "web", p.file("app.yaml", manifestOf("one")))
				return []string{"adopt", "web", "cm/one"}
			},
			asked: "Change release PLACE/web?", state: ownersOf("one"), want: "one=web",
		},
		"orphan": {
			prepare: func(p *place) []string {
				p.applyShop()
				return []string{"orphan", "shop", "cm/one"}
			},
			asked: "Change release PLACE/shop?", state: ownersOf("one", "two"), want: "one= two=shop",
		},
		"move": {
			prepare: func(p *place) []string {
				p.applyShop()
				p.must("apply", "web", p.file("app.yaml", manifestOf("three")))
				return []string{"move", "cm/one", "--from", "shop", "--to", "web"}
			},
			asked: "Move 1 object from release PLACE/shop to release PLACE/web?", state: ownersOf("one", "two"), want: "one=web two=shop",
		},
		"doctor": {
			prepare: func(p *place) []string {
				p.applyShop()
				p.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "extra"}})
				p.as("somebody", configMapKind, "extra", p.mark("shop"))
				return []string{"doctor", "--fix"}
			},
			asked: "Repair what can be repaired (1 of 1)?", state: func(p *place) string { return strings.Join(p.findings(), " ") },
		},
		"drift": {
			prepare: func(p *place) []string {
				p.must("apply", "web", p.file("app.yaml", configMap("a", "1")))
				p.change("a", "2")
				return []string{"drift", "web", "--correct"}
			},
			asked: "Correct the drift of release PLACE/web?", state: valuesOf("a"), want: "a=1",
		},
		"test": {
			prepare: func(p *place) []string {
				p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+
					"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: check, annotations: {clm.cs.sap.com/release-hook: test}}, data: {value: '1'}}\n"))
				return []string{"test", "web"}
			},
			state: valuesOf("a", "check"), want: "a=1 check=1",
		},
	}
}

func (p *place) applyShop() {
	p.Helper()
	p.must("apply", "shop", p.file("shop.yaml", manifestOf("one", "two")))
}

func ownersOf(names ...string) func(p *place) string {
	return factsOf(names, (*place).owner)
}

func valuesOf(names ...string) func(p *place) string {
	return factsOf(names, func(p *place, name string) string { return p.configMap(name)["value"] })
}

func factsOf(names []string, fact func(p *place, name string) string) func(p *place) string {
	return func(p *place) string {
		texts := make([]string, len(names))
		for i, name := range names {
			texts[i] = name + "=" + fact(p, name)
		}
		return strings.Join(texts, " ")
	}
}
