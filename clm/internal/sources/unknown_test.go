// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/clm/internal/sources"
)

func TestUnknownValues(t *testing.T) {
	t.Parallel()
	named := func(folder, values string) files {
		return files{folder + "/Chart.yaml": "apiVersion: v2\nname: " + folder + "\nversion: 1.2.3\n", folder + "/values.yaml": values}
	}
	root := merged(
		named("web", "image: {tag: a}\nreplicaCount: 1\n"), named("db", "image: {name: a}\nreplicas: 1\nport: 1\n"), named("any", "{}"),
		files{"any/templates/a.yaml": "{{/* all of them */}}{{ if .Values }}{{ end }}", "k/kustomization.yaml": "{}", "m.yaml": configMap("m", "a: b")},
	).write(t)
	for _, tc := range []struct {
		reason  string
		sources []string
		options sources.Options
		want    []string // the name of a chart, a path, and the suggestion
	}{
		{"of one chart", []string{"web"}, sources.Options{Set: []string{"image.tagg=b", "replicaCounts=2"}}, []string{"web image.tagg image.tag", "web replicaCounts replicaCount"}},
		{"all are taken", []string{"web"}, sources.Options{Set: []string{"image.tag=b"}}, nil},
		{"there are no values", []string{"web"}, sources.Options{}, nil},
		{"another chart takes some", []string{"web", "db"}, sources.Options{Set: []string{"image.tag=b,image.name=c,port=1,prot=2,replicaCounts=3"}}, []string{"db prot port", "web replicaCounts replicaCount"}},
		{"another chart takes some of a map", []string{"web", "db"}, sources.Options{Set: []string{"image.name=c,image.named=d"}}, []string{"db image.named image.name"}},
		{"a chart that takes the map, and one that takes none", []string{"db", "m.yaml", "any"}, sources.Options{Set: []string{"x=1"}}, nil},
		{"manifests take none", []string{"web", "m.yaml"}, sources.Options{Set: []string{"x=1"}}, []string{"web x "}},
		{"a kustomization without templates takes none", []string{"web", "k"}, sources.Options{Set: []string{"x=1"}}, []string{"web x "}},
		{"a kustomization with templates takes all", []string{"web", "k"}, sources.Options{Set: []string{"x=1"}, Template: true}, nil},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			found, err := mustLoad(t, root, tc.options, tc.sources...).UnknownValues()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, value := range found {
				got = append(got, value.Chart+" "+value.Path+" "+value.Suggestion)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
