# Completion of mcpbridge for bash:  source <(mcpbridge completion bash)
_mcpbridge() {
	# bash splits words at = and :, so they are put together again, up to the cursor.
	local rest="${COMP_LINE:0:COMP_POINT}" words=() i part blank
	for ((i = 0; i <= COMP_CWORD; i++)); do
		blank="${rest%%[![:space:]]*}"
		rest="${rest#"$blank"}"
		part="${COMP_WORDS[i]}"
		if ((i == COMP_CWORD)); then part="$rest"; fi
		if [[ -z "$blank" && ${#words[@]} -gt 0 ]]; then
			words[${#words[@]}-1]+="$part"
		else
			words+=("$part")
		fi
		rest="${rest#"$part"}"
	done

	local last="${words[${#words[@]}-1]}" line
	local cut="${last%"${last##*[=:]}"}" # what bash does not replace
	COMPREPLY=()
	while IFS= read -r line; do
		case "$line" in
		:files)
			compopt -o filenames 2>/dev/null
			while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "${last#"$cut"}")
			;;
		:folders)
			compopt -o filenames 2>/dev/null
			while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "${last#"$cut"}")
			;;
		*)
			line="${line%%$'\t'*}"
			[[ "$line" == *= ]] && compopt -o nospace 2>/dev/null
			printf -v line %q "${line#"$cut"}" # else bash would run what stands in it, or take it for two words
			COMPREPLY+=("$line")
			;;
		esac
	done < <("${words[0]/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null)
}
complete -F _mcpbridge mcpbridge
