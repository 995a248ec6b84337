// Renders a chart as `helm template` does, by Helm's own loader, schema and engine, and packs it as `helm package` does.
//
//	render CHART NAMESPACE RELEASE [VALUES.yaml]...   the documents, in the order in which Helm installs them
//	render -only TEMPLATE CHART NAMESPACE ...         those of one template, such as templates/webhook.yaml
//	render -pack CHART DIRECTORY                      an archive in DIRECTORY, whose path is printed
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
)

// The release of Kubernetes that the chart is told of; there is no cluster here.
const kubernetes = "v1.37.1"

// render returns the documents of the chart, or of one template where only names it.
func render(only, path, namespace, release string, files []string) (string, error) {
	chart, err := loader.Load(path)
	if err != nil {
		return "", err
	}
	given := chartutil.Values{}
	for _, file := range files {
		values, err := chartutil.ReadValuesFile(file)
		if err != nil {
			return "", err
		}
		given = chartutil.CoalesceTables(values.AsMap(), given)
	}
	version, err := chartutil.ParseKubeVersion(kubernetes)
	if err != nil {
		return "", err
	}
	if !chartutil.IsCompatibleRange(chart.Metadata.KubeVersion, version.String()) {
		return "", fmt.Errorf("kubeVersion %s excludes %s", chart.Metadata.KubeVersion, version)
	}
	capabilities := *chartutil.DefaultCapabilities
	capabilities.KubeVersion = *version
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	values, err := chartutil.ToRenderValues(chart, given, options, &capabilities)
	if err != nil {
		return "", err
	}
	rendered, err := engine.Render(chart, values)
	if err != nil {
		return "", err
	}
	for file := range rendered {
		if strings.HasSuffix(file, "NOTES.txt") {
			delete(rendered, file)
		}
	}
	_, manifests, err := releaseutil.SortManifests(rendered, nil, releaseutil.InstallOrder)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, manifest := range manifests {
		if only != "" && manifest.Name != chart.Name()+"/"+only {
			continue
		}
		fmt.Fprintf(&text, "---\n%s\n", strings.TrimSpace(manifest.Content))
	}
	return text.String(), nil
}

func pack(path, directory string) (string, error) {
	chart, err := loader.Load(path)
	if err != nil {
		return "", err
	}
	sort.Slice(chart.Files, func(a, b int) bool { return chart.Files[a].Name < chart.Files[b].Name })
	return chartutil.Save(chart, directory)
}

func main() {
	log.SetOutput(io.Discard) // Helm says of each link that it follows it
	arguments := os.Args[1:]
	var text string
	var err error
	switch {
	case len(arguments) == 3 && arguments[0] == "-pack":
		if text, err = pack(arguments[1], arguments[2]); err == nil {
			text += "\n"
		}
	case len(arguments) >= 5 && arguments[0] == "-only":
		text, err = render(arguments[1], arguments[2], arguments[3], arguments[4], arguments[5:])
	case len(arguments) >= 3:
		text, err = render("", arguments[0], arguments[1], arguments[2], arguments[3:])
	default:
		err = fmt.Errorf("usage: render [-only TEMPLATE] CHART NAMESPACE RELEASE [VALUES.yaml]... | render -pack CHART DIRECTORY")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(text)
}
