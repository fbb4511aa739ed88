// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func conversionTo(address string) *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &address},
		},
	}
}

// TestClaims lets three processes claim and release a conversion. Each row lists what happens, and where calls lead afterwards; empty means to none of them.
func TestClaims(t *testing.T) {
	t.Parallel()
	type event struct{ what, id, want string }
	for name, events := range map[string][]event{
		"one":                         {{"claim", "1", "1"}, {"release", "1", ""}},
		"one, twice":                  {{"claim", "1", "1"}, {"release", "1", ""}, {"claim", "1", "1"}, {"release", "1", ""}},
		"the newer one ends first":    {{"claim", "1", "1"}, {"claim", "2", "2"}, {"release", "2", "1"}, {"release", "1", ""}},
		"the older one ends first":    {{"claim", "1", "1"}, {"claim", "2", "2"}, {"release", "1", "2"}, {"release", "2", ""}},
		"one dies, another begins":    {{"claim", "1", "1"}, {"die", "1", "1"}, {"claim", "2", "2"}, {"release", "2", ""}},
		"one dies, nobody else":       {{"claim", "1", "1"}, {"die", "1", "1"}, {"tidy", "", ""}},
		"the newest one dies":         {{"claim", "1", "1"}, {"claim", "2", "2"}, {"die", "2", "2"}, {"tidy", "", "1"}, {"release", "1", ""}},
		"one dies before another":     {{"claim", "1", "1"}, {"claim", "2", "2"}, {"claim", "3", "3"}, {"die", "2", "3"}, {"release", "3", "1"}, {"release", "1", ""}},
		"a release without any claim": {{"release", "1", ""}},
	} {
		before := &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
		definition := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Conversion: before.DeepCopy()}}
		dead := map[string]bool{}
		answers := func(url string) bool { return !dead[url] }
		for i, event := range events {
			var err error
			switch event.what {
			case "claim":
				err = claimConversion(definition, event.id, conversionTo(event.id), answers)
			case "release":
				err = releaseConversion(definition, event.id, answers)
			case "die":
				dead[event.id] = true
			case "tidy":
				err = dropClaims(definition, func(_, url string) bool { return !answers(url) })
			}
			if got := urlOf(definition.Spec.Conversion); err != nil || got != event.want {
				t.Errorf("%s, event %d: calls lead to %q, want %q; error %v", name, i, got, event.want, err)
			}
		}
		if diff := cmp.Diff(before, definition.Spec.Conversion); diff != "" || len(definition.Annotations) > 0 {
			t.Errorf("%s: the definition is not what it was before: %v %s", name, definition.Annotations, diff)
		}
	}
}
